/** Where a word that is no address is looked up: in the registry that was named, then among the hosts. */
import { lookup } from 'node:dns/promises'
import { type CardResolver, TransportError } from '../client/index.js'
import { registryResolver } from '../registry/index.js'
import { Advised } from './failure.js'
import { demonstrationRegistry } from './local-registry.js'
import { oneLine } from './printable.js'

export interface Registry {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

export function resolversFor(registry: Registry | undefined): readonly CardResolver[] {
  return [
    ...(registry ? [registryResolver(registry.url, { headers: registry.headers })] : []),
    refuseUnknown(registry?.url),
  ]
}

/** Comes last: what is the name of a host, too, is left to those who connect to it. */
function refuseUnknown(registry: string | undefined): CardResolver {
  return async (name) => {
    const isHost = await lookup(name).then(
      () => true,
      () => false,
    )
    if (isHost) return undefined
    const place = registry === undefined ? 'an agent in a registry: none was named' : `an agent that ${registry} knows`
    throw new Advised(
      new TransportError('unreachable', `${oneLine(name)} is neither a host that can be found nor ${place}`),
      registry === undefined
        ? `Agents are found by name with --registry URL or DRAGOMAN_REGISTRY; that of \`npm start\` is ${demonstrationRegistry}`
        : `dragoman registry list --registry ${registry} shows whom it knows`,
    )
  }
}
