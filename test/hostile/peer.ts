/** Serves an agent in this process, without a port. Its callers for both bindings check every response. */
import assert from 'node:assert/strict'
import type { Agent } from 'dragoman'
import type { LogEntry } from 'dragoman/engine'
import { createHandler, type FetchHandler, type HandlerOptions } from 'dragoman/server'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { type CheckOptions, type Outcome, readRest, readRpc } from './answers.js'
import { within } from './waiting.js'

export type Bytes = string | Uint8Array<ArrayBuffer>
export type Headed = Readonly<Record<string, string>>

/** Timeout of a response; shorter than the timeout of a test. */
const timeoutMs = 3000

export class Peer implements AsyncDisposable {
  readonly handler: FetchHandler
  /** Log entries of the server, which no caller may see. */
  readonly logs: LogEntry[]
  readonly #check: CheckOptions
  #lastId = 0

  constructor(handler: FetchHandler, logs: LogEntry[], check: CheckOptions) {
    this.handler = handler
    this.logs = logs
    this.#check = check
  }

  /** Posts a body, well-formed or not, to the JSON-RPC endpoint. */
  async rpc(body: Bytes, headers: Headed = {}): Promise<Outcome> {
    const request = new Request('http://localhost/', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
    return readRpc(await this.#fetch(request), { ...this.#check, sent: shown(body) + shown(headers) })
  }

  /** Calls a method; `params` may be JSON text, for content that no JavaScript value can express. */
  async call(method: string, params: unknown, headers: Headed = {}): Promise<Outcome> {
    this.#lastId += 1
    return await this.rpc(envelope(method, params, this.#lastId), headers)
  }

  /** Calls a path of the HTTP+JSON binding. */
  async rest(method: string, path: string, body?: unknown, headers: Headed = {}): Promise<Outcome> {
    const bytes =
      body === undefined || typeof body === 'string' || body instanceof Uint8Array
        ? (body as Bytes | undefined)
        : JSON.stringify(body)
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: { ...(bytes !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(bytes !== undefined && { body: bytes }),
    })
    return readRest(await this.#fetch(request), { ...this.#check, sent: path + shown(bytes ?? '') + shown(headers) })
  }

  async #fetch(
    request: Request,
  ): Promise<{ readonly status: number; readonly contentType: string; readonly text: string }> {
    const answer = async () => {
      const response = await this.handler.fetch(request)
      return {
        status: response.status,
        contentType: response.headers.get('content-type') ?? '',
        text: await response.text(),
      }
    }
    return await within(timeoutMs, `an answer to ${request.method} ${new URL(request.url).pathname}`, answer())
  }

  /** Checks that the server still completes an ordinary task. */
  async assertAlive(): Promise<void> {
    const { result } = await this.call('SendMessage', send('still there?'))
    const { task } = result as { task: { status: { state: string } } }
    assert.equal(task.status.state, 'TASK_STATE_COMPLETED')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.handler.close({ deadlineMs: 0 })
  }
}

/** Serves the test-bed agent, or another one. */
export async function startPeer(
  agent: Agent = echoAgent,
  options: HandlerOptions & Pick<CheckOptions, 'mayBeInternal'> = {},
): Promise<Peer> {
  const { mayBeInternal = false, ...rest } = options
  const logs: LogEntry[] = []
  const log = (entry: LogEntry) => {
    // Deliveries to made-up webhooks fail, which the server logs as warnings.
    if (entry.level !== 'debug' && !/^(Webhook|A registered webhook) /.test(entry.message)) logs.push(entry)
  }
  // The checks expect the form of v1.0; calls without a version would be rejected in the form of 0.3.
  // A busy machine stalls the event loop, which is not a fault of the server.
  const advanced = { ...rest.advanced, engine: { stallMs: 0, ...rest.advanced?.engine } }
  const handler = await createHandler(agent, { log, dialects: ['v1'], ...rest, advanced })
  return new Peer(handler, logs, { mayBeInternal })
}

export function envelope(method: string, params: unknown, id: string | number = 1): string {
  const text = typeof params === 'string' ? params : JSON.stringify(params)
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${JSON.stringify(method)}${text === undefined ? '' : `,"params":${text}`}}`
}

let lastMessage = 0

export function message(
  text: string,
  more: object = {},
): { messageId: string; role: string; parts: readonly object[] } {
  lastMessage += 1
  return { messageId: `message-${lastMessage}`, role: 'ROLE_USER', parts: [{ text }], ...more }
}

/** The params of a send. */
export function send(text: string, more: object = {}): { message: object } {
  return { message: message(text), ...more }
}

function shown(sent: Bytes | Headed): string {
  if (typeof sent === 'string') return sent
  return sent instanceof Uint8Array ? new TextDecoder().decode(sent) : Object.values(sent).join(' ')
}
