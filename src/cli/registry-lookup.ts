/** Resolves names of agents, and finds a registry on this machine when none was given. */
import { lookup } from 'node:dns/promises'
import { type CardResolver, TransportError } from '../client/index.js'
import { registryResolver } from '../registry/index.js'
import { AdvisedError } from './failure.js'
import { oneLine } from './printable.js'

export interface RegistryAddress {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Resolvers for a name that is not a URL: the registry first, then DNS. */
export function resolversFor(registry: RegistryAddress | undefined): readonly CardResolver[] {
  return [
    ...(registry ? [registryResolver(registry.url, { headers: registry.headers })] : []),
    rejectUnknown(registry?.url),
  ]
}

/** Comes last. Names of hosts are not resolved here: `connect` uses them as they are. */
function rejectUnknown(registry: string | undefined): CardResolver {
  return async (name) => {
    const isHost = await lookup(name).then(
      () => true,
      () => false,
    )
    if (isHost) return undefined
    throw new AdvisedError(
      new TransportError(
        'unreachable',
        `${oneLine(name)} is not a known host${registry === undefined ? ', and no registry was given' : `, and not found in the registry ${registry}`}`,
      ),
      registry === undefined
        ? `Pass --registry URL or set DRAGOMAN_REGISTRY to use names of agents; the registry of \`npm start\` is ${demoRegistry}`
        : `dragoman registry list --registry ${registry} prints its agents`,
    )
  }
}

/** Default port of `dragoman registry serve`, and of Nacos. */
export const registryPort = 8848

/** The registry that `npm start` runs. */
const demoRegistry = 'http://localhost:8020'

const defaultUrls = [`http://localhost:${registryPort}`, demoRegistry]
const probeTimeoutMs = 2000

/** Returns the first URL at which a registry answers. */
export async function findLocalRegistry(urls: readonly string[] = defaultUrls): Promise<string> {
  for (const url of urls) if (await isRegistry(url)) return url
  throw new AdvisedError(
    new TransportError('unreachable', `No registry was given, and none answers at ${urls.join(' or ')}`),
    'Pass --registry URL, set DRAGOMAN_REGISTRY, or start one: dragoman registry serve --allow-private',
  )
}

/** A registry that requires credentials counts too. */
async function isRegistry(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/v1/agents?limit=1`, {
      redirect: 'error',
      signal: AbortSignal.timeout(probeTimeoutMs),
    })
    const answer: unknown = await response.json()
    if (typeof answer !== 'object' || answer === null) return false
    return response.status === 401 ? 'error' in answer : response.ok && 'agents' in answer
  } catch {
    return false
  }
}
