/** Registries on this machine, for those who name none. */
import { TransportError } from '../client/index.js'
import { Advised } from './failure.js'

/** Where `dragoman registry serve` is, and clients of Nacos expect one. */
export const registryPort = 8848

/** Where `npm start` has its own. */
export const demonstrationRegistry = 'http://localhost:8020'

const usual = [`http://localhost:${registryPort}`, demonstrationRegistry]
const patienceMs = 2000

/** The first that answers as a registry does. */
export async function findLocalRegistry(places: readonly string[] = usual): Promise<string> {
  for (const place of places) if (await isRegistry(place)) return place
  throw new Advised(
    new TransportError('unreachable', `No registry was named, and none answers at ${places.join(' or ')}`),
    'Name one with --registry URL or DRAGOMAN_REGISTRY, or start one: dragoman registry serve --allow-private',
  )
}

/** One that wants to know who asks is one, too. */
async function isRegistry(place: string): Promise<boolean> {
  try {
    const response = await fetch(`${place}/v1/agents?limit=1`, {
      redirect: 'error',
      signal: AbortSignal.timeout(patienceMs),
    })
    const answer: unknown = await response.json()
    if (typeof answer !== 'object' || answer === null) return false
    return response.status === 401 ? 'error' in answer : response.ok && 'agents' in answer
  } catch {
    return false
  }
}
