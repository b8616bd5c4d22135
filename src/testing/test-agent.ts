import type { AgentClient } from '../client/agent-client.js'
import { connect } from '../client/connect.js'
import type { ConnectOptions } from '../client/connect-options.js'
import type { TaskEvent } from '../model/event.js'
import type { Log, LogEntry } from '../model/log.js'
import { assertOptions } from '../model/option-names.js'
import { type Assembly, assemble } from '../server/assemble.js'
import type { Agents } from '../server/mounts.js'
import { useStore } from '../server/open-store.js'
import { type HandlerOptions, handlerOptions, settleOptions } from '../server/options.js'
import { toSigner } from '../signing/signer.js'
import { MemoryStore } from '../stores/memory.js'
import type { Store } from '../stores/store.js'
import { answerUnlessAborted } from '../transports/in-process.js'
import { type FakeClock, fakeClock } from './fake-clock.js'
import { mortalStore } from './mortal-store.js'

/** Options of `testAgent`: those of `createHandler`, and three of its own. */
export interface TestAgentOptions extends HandlerOptions {
  /** Default: `fakeClock()`. */
  readonly clock?: FakeClock
  /** Options of `TestAgent.client`, such as the credentials that `auth` asks for. */
  readonly connect?: ConnectOptions
  /** Receives log entries too. Default: entries are only kept in `TestAgent.log`. */
  readonly log?: Log | false
}

/** A running agent without a port, as `testAgent` returns it. */
export interface TestAgent extends AsyncDisposable {
  /** A client of the agent; of several agents, of the first. It stays connected after `restart`. */
  readonly client: AgentClient
  /** The time of the engine and of the default store. It stands still until it is advanced. */
  readonly clock: FakeClock
  readonly store: Store
  /** Entries that the server logged, such as errors that the agent threw, oldest first. */
  readonly log: readonly LogEntry[]
  /** Connects another client: as another caller, in another dialect, or to the agent of that name. */
  connect(options?: ConnectOptions & { readonly agent?: string }): Promise<AgentClient>
  /** The log of a task, oldest event first: its public events and the private ones, such as checkpoints. */
  events(taskId: string): Promise<readonly TaskEvent[]>
  /**
   * Kills the agent as a crash does and starts it again on the same store. Turns that were running are failed, or run
   * again if the agent sets `onCrash`. Calls under way fail, as if the connection broke; streams of clients reconnect.
   * Resolves when the turns have been taken over. Rejects after `close`.
   */
  restart(): Promise<void>
  /** Stops the agent. Turns that are running are aborted. */
  close(): Promise<void>
}

/**
 * Runs an agent for a test: with a client, a fake clock and a memory store, without a port.
 *
 * ```ts
 * await using t = await testAgent(shout)
 * const { text } = await t.client.ask('hello')
 * assert.equal(text, 'HELLO')
 * ```
 */
export async function testAgent(agents: Agents, options: TestAgentOptions = {}): Promise<TestAgent> {
  assertOptions('testAgent', options, { ...handlerOptions, clock: true, connect: true })
  const { clock = fakeClock(), connect: connectOptions, store: given, log: logTo, ...common } = options
  const log: LogEntry[] = []
  const onLog: Log = (entry) => {
    log.push(entry)
    if (logTo) logTo(entry)
  }
  const served = settleOptions<HandlerOptions>(common, onLog)
  const signer = served.signing && (await toSigner(served.signing))
  const { store, release } = given
    ? await useStore(given, onLog)
    : await useStore(new MemoryStore({ now: clock.now }), onLog)
  const start = async () => {
    const life = mortalStore(store)
    const timers = timersOf(clock)
    const port = { store: life.store, signer, clock: timers.clock }
    const assembly = await assemble(agents, served, port)
    const gone = new AbortController()
    const kill = () => {
      life.kill()
      timers.stop()
      gone.abort(Object.assign(new Error('The agent was restarted'), { code: 'ECONNRESET' }))
    }
    return { assembly, gone: gone.signal, kill }
  }
  let running = await start().catch(async (error: unknown) => {
    await release()
    throw error
  })
  const fetch = (request: Request) => answerUnlessAborted(running.assembly.fetch, request, running.gone)
  const connectTo = ({ agent, ...rest }: ConnectOptions & { readonly agent?: string } = {}) =>
    connect({ fetch, agents: named(running.assembly, agent) }, rest)
  const stop = async () => {
    // The grace periods of turns that do not stop are periods of this clock.
    await whileAdvancing(clock, running.assembly.close({ deadlineMs: 0 }))
    await release()
  }
  const client = await Promise.resolve(connectOptions)
    .then(connectTo)
    .catch(async (error: unknown) => {
      await stop()
      throw error
    })
  // Restarts and the close run one after the other: each replaces or ends the agent that the one before left.
  let last: Promise<void> = Promise.resolve()
  const inOrder = (work: () => Promise<void>) => {
    const done = last.then(work)
    last = done.catch(() => undefined)
    return done
  }
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= inOrder(async () => {
      await client.close()
      await stop()
    })
    return closing
  }
  return {
    client,
    clock,
    store,
    log,
    connect: connectTo,
    async events(taskId) {
      for (const { name } of running.assembly.agents) {
        const found = await readLog(store, { agent: name, id: taskId })
        if (found) return found
      }
      throw new Error(`Task not found: ${taskId}; pass the \`id\` of a task, and read it before retention removes it`)
    },
    async restart() {
      if (closing) throw new Error('The test agent is closed; call `restart` before `close`')
      await inOrder(async () => {
        const { assembly, kill } = running
        kill()
        // Only aborts the handlers: the dead store answers nothing, so this never ends.
        assembly.close({ deadlineMs: 0 }).catch(() => undefined)
        for (const owner of await store.leases.owners()) await store.leases.disown(owner)
        running = await start()
      })
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function named({ agents }: Assembly, name: string | undefined): Assembly['agents'] {
  if (name === undefined) return agents
  const found = agents.filter((each) => each.name === name)
  if (found.length > 0) return found
  throw new TypeError(
    `Agent not found: ${name}; the agents of this test are ${agents.map((each) => each.name).join(', ')}`,
  )
}

/** The clock of one life of the agent, whose timers end with it. */
function timersOf(clock: FakeClock) {
  const stops = new Set<() => void>()
  return {
    clock: {
      ...clock,
      startTimer: (...timer: Parameters<FakeClock['startTimer']>) => {
        const stop = clock.startTimer(...timer)
        stops.add(stop)
        return () => {
          stops.delete(stop)
          stop()
        }
      },
    },
    stop: () => {
      for (const stop of stops) stop()
    },
  }
}

async function readLog(store: Store, key: { readonly agent: string; readonly id: string }) {
  const all: TaskEvent[] = []
  for (;;) {
    const page = await store.read(key, all.at(-1)?.seq ?? 0, 1000)
    if (!page) return undefined
    if (page.length === 0) return all
    all.push(...page)
  }
}

async function whileAdvancing(clock: FakeClock, work: Promise<void>): Promise<void> {
  let isOver = false
  const done = work.finally(() => {
    isOver = true
  })
  // A handler that ignores its signal needs real time too: do not spin.
  for (let round = 0; !isOver; round++) {
    await clock.advance('10s')
    if (round > 10) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await done
}
