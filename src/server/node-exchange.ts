/** Requests of `node:http` as exchanges. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Connection } from '../model/connection.js'
import { A2AError } from '../model/errors.js'
import type { Caller } from '../model/service.js'
import type { Exchange } from '../transports/exchange.js'
import { NodeHeaders } from '../transports/node-headers.js'
import { BodyInterrupted, readBefore, tooLarge } from '../transports/read-json.js'
import type { HeaderReader } from '../transports/transport.js'
import { canHaveBody, limitedBody, requestInit } from './fetch.js'
import { callerKey, certificateOf } from './peer-connection.js'

/** The address of a request. */
export abstract class AddressedExchange {
  readonly authority: string
  readonly path: string
  readonly query: string
  readonly #isTls: boolean
  /** Absent if it consists of the members above. */
  readonly #url: string | undefined

  /** Throws `INVALID_REQUEST` if target and host are not an address. */
  constructor(target: string, host: string, isTls: boolean) {
    this.#isTls = isTls
    if (plainHost.test(host) && (target === '/' || isPlain(target))) {
      const mark = target.indexOf('?')
      this.authority = host
      this.path = mark < 0 ? target : target.slice(0, mark)
      this.query = mark < 0 ? '' : target.slice(mark + 1)
      return
    }
    const url = parseTarget(target, host, isTls)
    this.#url = url.href
    this.authority = url.host
    this.path = url.pathname
    this.query = url.search.slice(1)
  }

  get url(): string {
    if (this.#url !== undefined) return this.#url
    const query = this.query === '' ? '' : `?${this.query}`
    return `${this.#isTls ? 'https' : 'http'}://${this.authority}${this.path}${query}`
  }
}

/** A request of `node:http`, and the response that belongs to it. */
export class NodeExchange extends AddressedExchange implements Exchange {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly headers: HeaderReader
  #connection: PeerConnection | undefined
  #signal: AbortSignal | undefined

  /** Throws `INVALID_REQUEST` if target and `Host` are not an address. */
  constructor(incoming: IncomingMessage, outgoing: ServerResponse) {
    super(incoming.url ?? '/', incoming.headers.host ?? hostOfOldClient(incoming), isSecure(incoming.socket))
    this.incoming = incoming
    this.outgoing = outgoing
    this.headers = new NodeHeaders(incoming)
  }

  get method(): string {
    return this.incoming.method ?? 'GET'
  }

  get connection(): PeerConnection {
    this.#connection ??= new PeerConnection(this.incoming.socket)
    return this.#connection
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.outgoing)
    return this.#signal
  }

  readBody(maxBytes: number): Promise<Uint8Array> {
    const { incoming } = this
    if (Number(incoming.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes))
    const { rawBody } = incoming as { readonly rawBody?: unknown }
    // Some hosts read the body first and keep it here.
    if (rawBody instanceof Uint8Array)
      return rawBody.byteLength > maxBytes ? Promise.reject(tooLarge(maxBytes)) : Promise.resolve(rawBody)
    if (incoming.readableDidRead) return Promise.reject(readBefore())
    return collect(incoming, maxBytes)
  }

  toRequest(maxBytes: number): Request {
    const { incoming, method, signal } = this
    if (method === 'TRACE' || method === 'CONNECT')
      throw new A2AError('METHOD_NOT_FOUND', `The method ${method} is not supported`)
    const headers = new Headers()
    for (let place = 0; place < incoming.rawHeaders.length; place += 2)
      headers.append(incoming.rawHeaders[place] ?? '', incoming.rawHeaders[place + 1] ?? '')
    const init: RequestInit = { method, headers, signal }
    if (!canHaveBody(method)) return new Request(this.url, init)
    let chunks: AsyncIterator<Uint8Array> | undefined
    const read = async (): Promise<Uint8Array | undefined> => {
      const { rawBody } = incoming as { readonly rawBody?: unknown }
      if (!chunks && rawBody instanceof Uint8Array) chunks = [rawBody].values() as unknown as typeof chunks
      if (!chunks && incoming.readableDidRead) throw readBefore()
      // Destroying the request would close the connection before the response is written.
      chunks ??= incoming.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]()
      return (await chunks?.next())?.value
    }
    return new Request(
      this.url,
      requestInit({ ...init, body: limitedBody(read, () => undefined, { headers, maxBytes }) }),
    )
  }

  /** The key that unread responses are counted by. */
  get callerKey(): string {
    return callerKey(this.#connection?.caller, this.incoming.socket.remoteAddress)
  }
}

type Outgoing = Pick<Writable, 'once' | 'destroyed' | 'writableFinished'> & { readonly aborted?: boolean }

/** Aborts when a response closes before it is written. */
export function signalOf(outgoing: Outgoing): AbortSignal {
  const gone = new AbortController()
  const onClose = () => {
    // Node.js ends HTTP/2 streams that the client has reset, so that they are finished too.
    if (outgoing.aborted || !outgoing.writableFinished) gone.abort()
  }
  if (outgoing.destroyed) onClose()
  else outgoing.once('close', onClose)
  return gone.signal
}

/**
 * Hosts and targets that the URL parser would not change. It reads a host whose last label is a number as an IPv4 address,
 * and decodes labels that begin with `xn--`.
 */
const octet = '(?:\\d|[1-9]\\d|1\\d\\d|2[0-4]\\d|25[0-5])'
const plainHost = new RegExp(
  `^(?!.*xn--)(?:(?:[a-z\\d_-]+\\.)*[a-z][a-z\\d_-]*|(?:${octet}\\.){3}${octet})(?::(?:[1-9]\\d{3}|[1-5]\\d{4}))?$`,
)
const plainTarget = /^\/[\w!$&'()*+,\-./:;=?@[\]~]*$/
const dotSegment = /\/\.\.?(?:[/?]|$)/

function isPlain(target: string): boolean {
  return plainTarget.test(target) && !dotSegment.test(target)
}

function parseTarget(target: string, host: string, isTls: boolean): URL {
  // The URL parser reads a backslash as a slash; proxies may not.
  if (/^[^?]*\\/.test(target)) throw invalidTarget()
  const isAbsolute = /^https?:\/\//i.test(target)
  if (!isAbsolute && (host === '' || !target.startsWith('/'))) throw invalidTarget()
  let url: URL
  try {
    url = new URL(isAbsolute ? target : `${isTls ? 'https' : 'http'}://${host}${target}`)
  } catch {
    throw invalidTarget()
  }
  if (url.username !== '' || url.password !== '') throw invalidTarget()
  // A host that the parser reads as another one, such as `a@b`.
  if (!isAbsolute && url.hostname !== host.replace(/:\d+$/, '').toLowerCase()) throw invalidTarget()
  return url
}

function invalidTarget(): A2AError {
  return new A2AError('INVALID_REQUEST', 'Invalid request target or Host')
}

/** HTTP/1.0 does not require `Host`; health checks of some load balancers omit it. */
function hostOfOldClient({ httpVersionMinor, socket }: IncomingMessage): string {
  const { localAddress = '', localPort } = socket
  if (httpVersionMinor !== 0 || localAddress === '') return ''
  return localAddress.includes(':') ? `[${localAddress}]:${localPort}` : `${localAddress}:${localPort}`
}

export function isSecure(socket: Socket): boolean {
  return (socket as Partial<TLSSocket>).encrypted === true
}

/** Reads the body to its end, or until it exceeds `maxBytes`. */
function collect(incoming: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let first: Uint8Array | undefined
    let others: Uint8Array[] | undefined
    let length = 0
    const onData = (chunk: Uint8Array) => {
      length += chunk.byteLength
      // Later chunks are discarded: the response is sent first, and then the connection is closed.
      if (length > maxBytes) reject(tooLarge(maxBytes))
      else if (!first) first = chunk
      else if (others) others.push(chunk)
      else others = [chunk]
    }
    const onEnd = () => {
      if (length <= maxBytes) resolve(others && first ? Buffer.concat([first, ...others], length) : (first ?? nothing))
    }
    const onClose = () => {
      if (incoming.readableEnded) return
      if (!incoming.complete) {
        reject(new BodyInterrupted(incoming.errored ?? new Error('The connection was closed')))
        return
      }
      // The whole body arrived before the connection closed: the call is made (R-SEND-11).
      const rest = incoming.read() as Uint8Array | null
      if (rest) onData(rest)
      onEnd()
    }
    if (incoming.destroyed) {
      onClose()
      return
    }
    // Without a listener of `error`, Node.js emits `close` only.
    incoming.on('data', onData)
    incoming.on('end', onEnd)
    incoming.on('close', onClose)
  })
}

const nothing = new Uint8Array()

/** The connection of a request in Node.js. */
export class PeerConnection implements Connection {
  readonly #socket: Socket
  #caller: string | undefined

  constructor(socket: Socket) {
    this.#socket = socket
  }

  // Own members: connections are copied by spreading.
  readonly certificate = () => certificateOf(this.#socket)
  readonly address = () => this.#socket.remoteAddress
  readonly onCaller = ({ id }: Caller) => {
    this.#caller = id
  }

  /** The id of the caller, once it is authenticated. */
  get caller(): string | undefined {
    return this.#caller
  }
}
