/** A client of streams that can pause reading and close the connection at any time. */
import assert from 'node:assert/strict'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { eventually, within } from './waiting.js'

export interface StreamEvent {
  readonly id: number
  readonly body: Record<string, unknown>
}

export class StreamClient implements Disposable {
  readonly response: IncomingMessage
  readonly events: StreamEvent[] = []
  isEnded = false
  readonly #request: ClientRequest

  constructor(request: ClientRequest, response: IncomingMessage) {
    this.#request = request
    this.response = response
    response.on('error', () => undefined) // the client closes the connection itself
  }

  /** Begins to read. Until then the socket is not read. */
  read(): this {
    const parser = createParser({ onEvent: (event) => this.events.push(parse(event)) })
    this.response.setEncoding('utf8')
    this.response.on('data', (text: string) => parser.feed(text))
    this.response.once('end', () => {
      this.isEnded = true
    })
    return this
  }

  async sees(count: number, ms = 5000): Promise<void> {
    await eventually(ms, `${count} events, of which ${this.events.length} came`, () => this.events.length >= count)
  }

  async ends(ms = 5000): Promise<readonly StreamEvent[]> {
    await eventually(ms, 'the end of the stream', () => this.isEnded)
    return this.events
  }

  hangUp(): void {
    this.#request.destroy()
  }

  [Symbol.dispose](): void {
    this.hangUp()
  }
}

/** Posts to a JSON-RPC endpoint on a new connection; resolves with the headers of the stream. */
export async function openStream(
  url: string,
  method: string,
  params: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<StreamClient> {
  const request = httpRequest(url, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
  })
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    request.once('error', reject)
  })
  request.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
  const answered = await within(5000, `an answer to ${method}`, response)
  request.on('error', () => undefined) // as above
  assert.equal(answered.headers['content-type'], 'text/event-stream')
  return new StreamClient(request, answered)
}

function parse({ id, data }: EventSourceMessage): StreamEvent {
  const { result, error } = JSON.parse(data) as { result?: Record<string, unknown>; error?: unknown }
  assert.equal(error, undefined, data)
  return { id: Number(id), body: result ?? {} }
}

/** The id of the task, from the first event of a stream. */
export function taskIdOf(events: readonly StreamEvent[]): string {
  const { id } = (events[0]?.body.task ?? {}) as { id?: string }
  return id ?? assert.fail('a stream begins with its task')
}
