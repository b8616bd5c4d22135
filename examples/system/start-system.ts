// Serves all agents in one process, each on a separate port. They find each other in the registry and call each other over
// HTTP, as on several machines. They share a store; no agent sees the tasks of another.
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from 'dragoman'
import { connectAgents } from 'dragoman/client'
import { type RegistryClient, registryClient, serveRegistry } from 'dragoman/registry'
import { openStore } from 'dragoman/server'
import { authHeaders, registerOptions, registryLookup, type Secrets, serverAuth } from '../agents/serve-when-run.ts'
import { SystemConsole } from './console.ts'
import { consoleAgent, members, registryPort } from './members.ts'

type SystemOptions = Secrets & { store: string; host?: string | undefined; portFor?: (defaultPort: number) => number }
interface Place {
  readonly name: string
  readonly url: string
}
export interface System {
  readonly places: readonly Place[]
  readonly registry: string
  readonly console: string
  close(): Promise<void>
}

const maxDrainMs = 10_000
const maxWaitMs = 10_000

/** Starts the whole system. If one part cannot start, closes the others and throws. */
export async function startSystem({
  store: address,
  key,
  token,
  host,
  portFor = (defaultPort) => defaultPort,
}: SystemOptions): Promise<System> {
  const closing: ((deadlineMs: number) => Promise<void>)[] = []
  const close = async (deadlineMs = maxDrainMs) => {
    const end = Date.now() + deadlineMs
    // In reverse order: agents that call others may need them to finish.
    for (const each of closing.splice(0).reverse()) await each(Math.max(0, end - Date.now()))
  }
  const secrets = { key, token }
  const access = { ...(host && { host }), ...serverAuth(secrets) }
  try {
    const store = await openStore(address)
    closing.push(() => store.close())
    const registry = await serveRegistry({
      ...access,
      port: portFor(registryPort),
      store,
      allowPrivate: true, // all agents are on this machine
      isAdmin: () => true, // the operator has the key
    }).catch(withName('The registry'))
    closing.push(() => registry.close())
    const resolve = connectAgents({}, registryLookup(registry.url, secrets))
    closing.push(() => resolve.close())
    const page = new SystemConsole()
    closing.push(async () => page.close())
    const places = []
    for (const { agent, port: defaultPort, routes, card } of members) {
      const { name } = agent.card
      const served = await serve(agent, {
        ...access,
        port: portFor(defaultPort),
        store,
        dialects: 'all',
        register: registerOptions(registry.url, secrets),
        routes: [...(routes ?? []), ...(name === consoleAgent ? page.routes : [])],
        push: { allowHosts: ['localhost', '127.0.0.1'] }, // the console receives webhooks on this machine
        advanced: { ...(card && { card }), resolve },
      }).catch(withName(name))
      closing.push((deadlineMs) => served.close({ deadlineMs }))
      places.push({ name, url: served.url })
      if (agent.card.capabilities?.pushNotifications) page.watch(served.push)
    }
    await waitUntilRegistered(registryClient(registry.url, authHeaders(secrets)), places)
    const console = page.start({
      url: places.find(({ name }) => name === consoleAgent)?.url ?? '',
      registry: registry.url,
      agents: places.map(({ url }) => url),
      secrets,
    })
    return { places, registry: registry.url, console, close }
  } catch (error) {
    await close(0)
    throw error
  }
}

/** Adds the name of the agent to the error of a port that is in use. */
function withName(name: string): (error: unknown) => never {
  return (error) => {
    const { cause } = error instanceof Error ? error : {}
    const taken = cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE' && 'port' in cause
    if (!taken) throw error
    throw new PortTakenError(
      `${name} cannot have port ${cause.port}, it is in use: free it, or start with --ports auto`,
    )
  }
}

export class PortTakenError extends Error {}

/** Waits until the registry lists every agent: `serve` does not wait for registration. */
async function waitUntilRegistered(registry: RegistryClient, places: readonly Place[]) {
  const isFound = async ({ name, url }: Place) =>
    (await registry.get(name, { includeUnhealthy: true }))?.instances.some(({ instance }) => instance === url)
  const until = Date.now() + maxWaitMs
  for (;;) {
    const found = await Promise.all(places.map(isFound))
    const missing = places.filter((_, place) => !found[place])
    if (missing.length === 0) return
    if (Date.now() > until) throw new Error(`The registry did not take ${missing.map(({ name }) => name).join(', ')}`)
    await sleep(20)
  }
}
