/** The connections of a session: one for each agent, dialect and binding. All calls are logged. */
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

/** An agent with a dialect and a binding; absent members are negotiated. */
export interface AgentTarget {
  readonly ref: string
  readonly dialect?: DialectName
  readonly binding?: Binding
}

interface ConnectionDeps {
  readonly calls: CallLog
  /** The registry that resolves `registry:` references. */
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
/** The id of a task that does not exist, for probes. */
export const probeTaskId = 'dragoman-console-probe'
/** Error codes that show that an agent understood and authorized a probe. */
export const understoodCodes: ReadonlySet<string> = new Set([
  'TASK_NOT_FOUND',
  'UNSUPPORTED_OPERATION',
  'INVALID_PARAMS',
])
const refusals: ReadonlySet<string> = new Set(['UNAUTHENTICATED', 'PERMISSION_DENIED'])

export class Connections {
  readonly #deps: ConnectionDeps
  readonly #opened = new Map<string, Opened>()
  readonly #running = new AsyncLocalStorage<LoggedCall>()
  /** Calls by exchange id: events of a stream arrive outside of the call's async context. */
  readonly #exchanges = new Map<string, LoggedCall>()
  readonly cache: CardCache = createCardCache()

  constructor(deps: ConnectionDeps) {
    this.#deps = deps
  }

  /** Makes a call and logs all its requests, including those for the card. */
  async call<T>(
    target: AgentTarget,
    operation: Operation,
    { begun, work }: { begun(call: LoggedCall): void; work(client: AgentClient, call: LoggedCall): Promise<T> },
  ): Promise<T> {
    const call = this.#deps.calls.begin({
      ref: target.ref,
      operation,
      dialect: target.dialect ?? '',
      binding: target.binding ?? '',
      url: '',
    })
    begun(call)
    return await this.#running.run(call, async () => {
      try {
        const client = await this.open(target)
        const { dialect, binding, url } = client.choice
        call.negotiated({ dialect, binding, url })
        return await work(client, call)
      } catch (caught) {
        this.failed(call, caught)
        throw describeError(caught)
      }
    })
  }

  /** Attributes the requests of `work` to a call. */
  within<T>(call: LoggedCall, work: () => T): T {
    return this.#running.run(call, work)
  }

  async open(target: AgentTarget): Promise<AgentClient> {
    const key = JSON.stringify([target.ref, target.dialect, target.binding])
    const known = this.#opened.get(key)
    if (known) {
      known.usedAt = performance.now()
      return await known.client
    }
    const client = connect(...this.#targetOf(target))
    this.#opened.set(key, { client, usedAt: performance.now() })
    this.#closeOldest()
    try {
      return await client
    } catch (error) {
      // The next call tries again.
      this.#opened.delete(key)
      throw error
    }
  }

  /** Tests the credentials with a call that changes nothing. Throws if they are rejected or could not be tested. */
  async attempt(ref: string, signal: AbortSignal): Promise<void> {
    const [target, options] = this.#targetOf({ ref })
    // No time limit, because a person may have to log in.
    const client = await connect(target, { ...options, timeoutMs: 0, retry: { attempts: 1 } })
    try {
      await client.getTask({ id: probeTaskId }, { signal })
    } catch (caught) {
      if (caught instanceof A2AError && understoodCodes.has(caught.code)) return
      const error = describeError(caught)
      if (refusals.has(error.code)) throw error
      throw new A2AError(error.code, `The credentials could not be tested: ${error.message}`, { cause: caught })
    } finally {
      await client.close()
    }
  }

  /** Closes the connections to an agent, so that the next call reads its card again. */
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
    const { credentialsOf, allowsOrigins } = this.#deps
    return {
      ...credentialsOf(ref),
      ...(allowsOrigins(ref) && { allowedOrigins: ['*'] }),
      cache: this.cache,
      onWire: (entry) => this.#note(entry),
      // Retries long enough for a restart of the agent.
      retry: { attempts: 7 },
    }
  }

  #targetOf({ ref, dialect, binding }: AgentTarget): Parameters<typeof connect> {
    const { registry, registryHeaders: headers } = this.#deps
    const options: ConnectOptions = {
      ...this.optionsFor(ref),
      ...(dialect && { dialect }),
      ...(binding && { binding }),
      // An explicit choice is not replaced by a fallback.
      pin: dialect !== undefined || binding !== undefined,
    }
    const [, namespace, name] = /^registry:([^/]+)\/(.+)$/.exec(ref) ?? []
    if (namespace === undefined || name === undefined) return [ref, options]
    if (registry === undefined) throw new A2AError('INVALID_PARAMS', 'The console has no registry')
    return [name, { ...options, resolvers: [registryResolver(registry, { namespace, ...(headers && { headers }) })] }]
  }

  #note(entry: WireEntry): void {
    const { direction, exchange, body } = entry
    const call = direction === 'request' ? this.#running.getStore() : this.#exchanges.get(exchange)
    if (!call) return
    if (direction === 'request') this.#exchanges.set(exchange, call)
    // The response of a stream has no body; its events follow.
    else if (direction === 'response' && (body !== undefined || typeof entry.status === 'string'))
      this.#exchanges.delete(exchange)
    call.note(entry)
  }

  /** Logs the end of a call that failed or was aborted. */
  failed(call: LoggedCall, caught: unknown): void {
    if (caught instanceof TransportError && caught.failure === 'aborted') call.leave()
    else call.end(describeError(caught).message)
    this.over(call)
  }

  /** Logs no further lines for the call. */
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
  client.then((each) => each.close()).catch(() => undefined) // not opened, or closed already
}

/** Converts any error to one whose message the page may show, including transport errors. */
export function describeError(caught: unknown): A2AError {
  if (caught instanceof TransportError)
    return new A2AError('INTERNAL_ERROR', caught.message, { metadata: { failure: caught.failure }, cause: caught })
  return A2AError.from(caught)
}
