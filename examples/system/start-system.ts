// Everything in one process, each agent on a port of its own: they find each other in the registry and talk over HTTP, as
// they would on several machines. They share a store, in which none sees the tasks of another.
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from 'dragoman'
import { connectAgents } from 'dragoman/client'
import { type RegistryClient, registryClient, serveRegistry } from 'dragoman/registry'
import { openStore } from 'dragoman/server'
import { authWith, headersWith, knownTo, registerAt, type Secrets } from '../agents/serve-when-run.ts'
import { SystemConsole } from './console.ts'
import { consoleAt, members, registryPort } from './members.ts'

type SystemOptions = Secrets & { store: string; host?: string | undefined; portFor?: (usual: number) => number }
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

const longestDrainMs = 10_000
const longestWaitMs = 10_000

/** All of it, or nothing: what was started is closed again when something cannot be. */
export async function startSystem({
  store: address,
  key,
  token,
  host,
  portFor = (usual) => usual,
}: SystemOptions): Promise<System> {
  const closing: ((deadlineMs: number) => Promise<void>)[] = []
  const close = async (deadlineMs = longestDrainMs) => {
    const end = Date.now() + deadlineMs
    // The last first: who asks others may still need them to finish.
    for (const each of closing.splice(0).reverse()) await each(Math.max(0, end - Date.now()))
  }
  const secrets = { key, token }
  const access = { ...(host && { host }), ...authWith(secrets) }
  try {
    const store = await openStore(address)
    closing.push(() => store.close())
    const registry = await serveRegistry({
      ...access,
      port: portFor(registryPort),
      store,
      allowPrivate: true, // everybody here is on this machine
      isAdmin: () => true, // and whoever has the key is the one who runs it
    }).catch(naming('The registry'))
    closing.push(() => registry.close())
    const resolve = connectAgents({}, knownTo(registry.url, secrets))
    closing.push(() => resolve.close())
    const page = new SystemConsole()
    closing.push(async () => page.close())
    const places = []
    for (const { agent, port: usual, routes, card } of members) {
      const { name } = agent.card
      const served = await serve(agent, {
        ...access,
        port: portFor(usual),
        store,
        dialects: 'all',
        ...(card && { card }),
        register: registerAt(registry.url, secrets),
        resolve,
        routes: [...(routes ?? []), ...(name === consoleAt ? page.routes : [])],
        push: { allowHosts: ['localhost', '127.0.0.1'] }, // the console takes deliveries, and is on this machine too
      }).catch(naming(name))
      closing.push((deadlineMs) => served.close({ deadlineMs }))
      places.push({ name, url: served.url })
      if (agent.card.capabilities?.pushNotifications) page.watch(served.push)
    }
    await allFound(registryClient(registry.url, headersWith(secrets)), places)
    const console = page.start({
      url: places.find(({ name }) => name === consoleAt)?.url ?? '',
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

/** Says whose port it is that is taken. */
function naming(name: string): (error: unknown) => never {
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

/** Publishing is nothing a port waits for; but whoever reads that all is ready may look for anybody. */
async function allFound(registry: RegistryClient, places: readonly Place[]) {
  const isFound = async ({ name, url }: Place) =>
    (await registry.get(name, { includeUnhealthy: true }))?.instances.some(({ instance }) => instance === url)
  const until = Date.now() + longestWaitMs
  for (;;) {
    const found = await Promise.all(places.map(isFound))
    const missing = places.filter((_, place) => !found[place])
    if (missing.length === 0) return
    if (Date.now() > until) throw new Error(`The registry did not take ${missing.map(({ name }) => name).join(', ')}`)
    await sleep(20)
  }
}
