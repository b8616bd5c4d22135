/** The connections of a session: one for each agent and way of speaking, each with its calls written down. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { AgentClient } from '../client/agent-client.js'
import { type CardCache, createCardCache } from '../client/card-cache.js'
import { connect } from '../client/connect.js'
import type { ConnectOptions } from '../client/connect-options.js'
import type { WireEntry } from '../client/wire-log.js'
import type { DialectName } from '../dialects/dialect.js'
import type { Binding } from '../model/agent-card.js'
import { A2AError } from '../model/errors.js'
import type { Operation } from '../model/operations.js'
import { TransportError } from '../model/transport-error.js'
import { registryResolver } from '../registry/resolvers/registry.js'
import type { CallLog, LoggedCall } from './call-log.js'

/** An agent, and how it is to be spoken to; what is absent is negotiated. */
export interface AgentTarget {
  readonly ref: string
  readonly dialect?: DialectName
  readonly binding?: Binding
}

export interface ConnectionDeps {
  readonly calls: CallLog
  /** Where `registry:` references are looked up. */
  readonly registry?: string | undefined
  readonly registryHeaders?: Readonly<Record<string, string>> | undefined
  credentialsOf(ref: string): Pick<ConnectOptions, 'credentials' | 'headers'>
  allowsOrigins(ref: string): boolean
}

interface Opened {
  readonly client: Promise<AgentClient>
  usedAt: number
}

const maxConnections = 50
/** No task has this name; an agent that says so has understood the question. */
export const probeTaskId = 'dragoman-console-probe'
/** Answers to it that only somebody gives who knows the protocol, and has let the caller in. */
export const understoodCodes: ReadonlySet<string> = new Set([
  'TASK_NOT_FOUND',
  'UNSUPPORTED_OPERATION',
  'INVALID_PARAMS',
])
const refusals: ReadonlySet<string> = new Set(['UNAUTHENTICATED', 'PERMISSION_DENIED'])

export class Connections {
  readonly #parts: ConnectionDeps
  readonly #opened = new Map<string, Opened>()
  readonly #running = new AsyncLocalStorage<LoggedCall>()
  /** Whose line of the wire is whose: the pieces of a stream come when nobody waits for them. */
  readonly #exchanges = new Map<string, LoggedCall>()
  readonly cache: CardCache = createCardCache()

  constructor(parts: ConnectionDeps) {
    this.#parts = parts
  }

  /** Makes a call, written down from its first byte, the search for the card included. */
  async call<T>(
    way: AgentTarget,
    operation: Operation,
    { begun, work }: { begun(call: LoggedCall): void; work(client: AgentClient, call: LoggedCall): Promise<T> },
  ): Promise<T> {
    const call = this.#parts.calls.begin({
      ref: way.ref,
      operation,
      dialect: way.dialect ?? '',
      binding: way.binding ?? '',
      url: '',
    })
    begun(call)
    return await this.#running.run(call, async () => {
      try {
        const client = await this.open(way)
        const { dialect, binding, url } = client.choice
        call.spoken({ dialect, binding, url })
        return await work(client, call)
      } catch (caught) {
        this.failed(call, caught)
        throw describeError(caught)
      }
    })
  }

  /** Whatever is done in it belongs to a call. */
  within<T>(call: LoggedCall, work: () => T): T {
    return this.#running.run(call, work)
  }

  async open(way: AgentTarget): Promise<AgentClient> {
    const key = JSON.stringify([way.ref, way.dialect, way.binding])
    const known = this.#opened.get(key)
    if (known) {
      known.usedAt = performance.now()
      return await known.client
    }
    const client = connect(...this.#targetOf(way))
    this.#opened.set(key, { client, usedAt: performance.now() })
    this.#closeOldest()
    try {
      return await client
    } catch (error) {
      // The agent may be there the next time.
      this.#opened.delete(key)
      throw error
    }
  }

  /** A call that changes nothing, with whatever has to be done before it. Throws where the credentials are refused, or could not be tried. */
  async attempt(ref: string, signal: AbortSignal): Promise<void> {
    const [target, options] = this.#targetOf({ ref })
    // Somebody may have to log in first, which takes as long as it takes.
    const client = await connect(target, { ...options, timeoutMs: 0, retry: { attempts: 1 } })
    try {
      await client.getTask({ id: probeTaskId }, { signal })
    } catch (caught) {
      if (caught instanceof A2AError && understoodCodes.has(caught.code)) return
      const error = describeError(caught)
      if (refusals.has(error.code)) throw error
      throw new A2AError(error.code, `The credentials could not be tried: ${error.message}`, { cause: caught })
    } finally {
      await client.close()
    }
  }

  /** What is known of an agent may have changed: the next call begins anew. */
  forget(ref: string): void {
    for (const [key, opened] of this.#opened) {
      if ((JSON.parse(key) as [string])[0] !== ref) continue
      this.#opened.delete(key)
      closeQuietly(opened)
    }
  }

  close(): void {
    for (const opened of this.#opened.values()) closeQuietly(opened)
    this.#opened.clear()
  }

  optionsFor(ref: string): ConnectOptions {
    const { credentialsOf, allowsOrigins } = this.#parts
    return {
      ...credentialsOf(ref),
      ...(allowsOrigins(ref) && { allowedOrigins: ['*'] }),
      cache: this.cache,
      onWire: (entry) => this.#note(entry),
      // Somebody looks on: an agent that is being restarted is worth a wait, and no more than that.
      retry: { attempts: 7 },
    }
  }

  #targetOf({ ref, dialect, binding }: AgentTarget): Parameters<typeof connect> {
    const { registry, registryHeaders: headers } = this.#parts
    const options: ConnectOptions = {
      ...this.optionsFor(ref),
      ...(dialect && { dialect }),
      ...(binding && { binding }),
      // Who asks for one way of speaking wants to see that one.
      pin: dialect !== undefined || binding !== undefined,
    }
    const [, namespace, name] = /^registry:([^/]+)\/(.+)$/.exec(ref) ?? []
    if (namespace === undefined || name === undefined) return [ref, options]
    if (registry === undefined) throw new A2AError('INVALID_PARAMS', 'This console has no registry')
    return [name, { ...options, resolvers: [registryResolver(registry, { namespace, ...(headers && { headers }) })] }]
  }

  #note(entry: WireEntry): void {
    const { direction, exchange, body } = entry
    const call = direction === 'request' ? this.#running.getStore() : this.#exchanges.get(exchange)
    if (!call) return
    if (direction === 'request') this.#exchanges.set(exchange, call)
    // A stream's answer has no body of its own: its pieces come for as long as it lives.
    else if (direction === 'response' && (body !== undefined || typeof entry.status === 'string'))
      this.#exchanges.delete(exchange)
    call.note(entry)
  }

  /** It broke, or somebody left it. */
  failed(call: LoggedCall, caught: unknown): void {
    if (caught instanceof TransportError && caught.failure === 'aborted') call.leave()
    else call.end(describeError(caught).message)
    this.over(call)
  }

  /** A call that is over gets no more lines. */
  over(call: LoggedCall): void {
    for (const [exchange, of] of this.#exchanges) if (of === call) this.#exchanges.delete(exchange)
  }

  #closeOldest(): void {
    if (this.#opened.size <= maxConnections) return
    const [oldest] = [...this.#opened].sort(([, a], [, b]) => a.usedAt - b.usedAt)
    if (!oldest) return
    this.#opened.delete(oldest[0])
    closeQuietly(oldest[1])
  }
}

function closeQuietly({ client }: Opened): void {
  client.then((each) => each.close()).catch(() => undefined) // it never opened, or is closed already
}

/** What broke on the way to the agent is what the page's user wants to know. */
export function describeError(caught: unknown): A2AError {
  if (caught instanceof TransportError)
    return new A2AError('INTERNAL_ERROR', caught.message, { metadata: { failure: caught.failure }, cause: caught })
  return A2AError.from(caught)
}
