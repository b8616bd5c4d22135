/** A TCP client that sends the given bytes, for requests that no HTTP client can send. */
import { connect as connectSocket, type Socket } from 'node:net'
import type { Answer } from './answers.js'
import { eventually, within } from './waiting.js'

export class RawClient implements Disposable {
  readonly socket: Socket
  /** Settles when either side has closed the connection. */
  readonly closed: Promise<void>
  isClosed = false
  #received = Buffer.alloc(0)

  constructor(socket: Socket) {
    this.socket = socket
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.isClosed = true
        resolve()
      })
    })
    socket.on('error', () => undefined) // many tests expect the server to close the connection
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
    })
  }

  /** Received bytes that are not part of a response read before. */
  get received(): string {
    return this.#received.toString('latin1')
  }

  /** Resolves when the bytes are written or the connection is closed. */
  async write(bytes: string | Uint8Array): Promise<void> {
    if (this.isClosed) return
    await Promise.race([new Promise<void>((resolve) => this.socket.write(bytes, () => resolve())), this.closed])
  }

  /** Reads the next complete HTTP response. */
  async answer(ms = 5000): Promise<Answer & { readonly headers: string }> {
    return await eventually(ms, 'an HTTP answer', () => this.#take())
  }

  /** Reads the next response; `undefined` if the server closes the connection first. */
  async answerOrEnd(ms = 5000): Promise<(Answer & { readonly headers: string }) | undefined> {
    const seen = await eventually(
      ms,
      'an HTTP answer or the end',
      () => this.#take() ?? (this.isClosed && ('ended' as const)),
    )
    return seen === 'ended' ? undefined : seen
  }

  async closes(ms: number): Promise<void> {
    await within(ms, 'the server to hang up', this.closed)
  }

  [Symbol.dispose](): void {
    this.socket.destroy()
  }

  #take(): (Answer & { readonly headers: string }) | undefined {
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) return undefined
    const headers = this.#received.toString('latin1', 0, headEnd)
    const rest = this.#received.subarray(headEnd + 4)
    const length = Number(/^content-length: (\d+)$/im.exec(headers)?.[1] ?? 0)
    const body = /^transfer-encoding: chunked$/im.test(headers)
      ? unchunk(rest)
      : rest.length < length
        ? undefined
        : { taken: length, content: rest.subarray(0, length) }
    if (!body) return undefined
    this.#received = rest.subarray(body.taken)
    return {
      headers,
      status: Number(/^HTTP\/1\.1 (\d{3})/.exec(headers)?.[1]),
      contentType: /^content-type: (.*)$/im.exec(headers)?.[1] ?? '',
      text: body.content.toString('utf8'),
    }
  }
}

export async function connect(url: string): Promise<RawClient> {
  const { port, hostname } = new URL(url)
  const socket = connectSocket(Number(port), hostname)
  const client = new RawClient(socket)
  await within(5000, 'a connection', new Promise((resolve) => socket.once('connect', resolve)))
  return client
}

/** The head of a POST. */
export function postHead(path: string, headers: Readonly<Record<string, string | number>> = {}): string {
  const lines = Object.entries({ Host: 'localhost', 'Content-Type': 'application/json', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** A whole POST. */
export function post(path: string, body: string, headers: Readonly<Record<string, string | number>> = {}): string {
  return postHead(path, { 'Content-Length': Buffer.byteLength(body), ...headers }) + body
}

/** One chunk of a chunked body. */
export function chunk(content: string): string {
  return `${Buffer.byteLength(content).toString(16)}\r\n${content}\r\n`
}

export const lastChunk = '0\r\n\r\n'

function unchunk(bytes: Buffer): { readonly taken: number; readonly content: Buffer } | undefined {
  const pieces: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const from = lineEnd + 2
    if (bytes.length < from + size + 2) return undefined
    if (size === 0) return { taken: from + 2, content: Buffer.concat(pieces) }
    pieces.push(bytes.subarray(from, from + size))
    at = from + size + 2
  }
}
