/** The session of one browser, in memory: its agents and their credentials, its calls, its webhook and its tabs. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { CredentialSources } from '../client/credentials/credential.js'
import { createPushReceiver } from '../client/push-receiver.js'
import { dialectNames } from '../dialects/dialect.js'
import { type Binding, bindings } from '../model/agent-card.js'
import { readBody } from '../transports/read-json.js'
import { sseHeaders } from '../transports/sse.js'
import { createA2aProxy } from './a2a-proxy.js'
import { AgentCredentials, AgentLogin, type LoginBrowser, type Redirects } from './agent-credentials.js'
import { CallLog } from './call-log.js'
import { Connections } from './connections.js'
import type { GivenCredential, InboxDelivery, NamedAgent, TabEvent } from './console-api.js'

const maxAgents = 200
const maxTabs = 50

export interface SessionDeps {
  readonly registry?: string | undefined
  readonly registryHeaders?: Readonly<Record<string, string>> | undefined
  /** Agents from the configuration of the console. */
  readonly given: readonly string[]
  /** Credentials from the configuration, by agent. */
  readonly credentials?: Readonly<Record<string, CredentialSources>> | undefined
  readonly redirects: Redirects
}

interface Entry {
  readonly from: NamedAgent['from']
  readonly credentials: AgentCredentials
  allowsOrigins: boolean
}

export class Session {
  readonly #deps: SessionDeps
  readonly #agents = new Map<string, Entry>()
  readonly #tabs = new Map<string, TabStream>()
  readonly calls = new CallLog((call) => this.tell({ call }))
  readonly inbox = new PushInbox((delivery) => this.tell({ delivery: delivery.id }))
  readonly connections: Connections
  readonly answer: ReturnType<typeof createA2aProxy>
  /** Identifies this browser when it returns from a login. */
  readonly #browser = randomBytes(18).toString('base64url')
  usedAt = performance.now()

  constructor(deps: SessionDeps) {
    const { registry, registryHeaders, given } = deps
    this.#deps = deps
    this.connections = new Connections({
      calls: this.calls,
      registry,
      registryHeaders,
      credentialsOf: (ref) => this.#agents.get(ref)?.credentials.options ?? {},
      allowsOrigins: (ref) => this.#agents.get(ref)?.allowsOrigins ?? false,
    })
    this.answer = createA2aProxy(this.connections)
    for (const ref of given) this.#agents.set(ref, this.#entry(ref, 'given'))
  }

  get agents(): NamedAgent[] {
    return [...this.#agents].map(([ref, { from, credentials, allowsOrigins }]) => ({
      ref,
      from,
      allowsOrigins,
      ...credentials.view,
    }))
  }

  has(ref: string): boolean {
    return this.#agents.has(ref)
  }

  /** Returns false if the session has too many agents. */
  add(ref: string, from: NamedAgent['from']): boolean {
    if (this.#agents.has(ref)) return true
    if (this.#agents.size >= maxAgents) return false
    this.#agents.set(ref, this.#entry(ref, from))
    this.tell({ agents: true })
    return true
  }

  remove(ref: string): void {
    this.#agents.get(ref)?.credentials.login.stop()
    this.#agents.delete(ref)
    this.connections.forget(ref)
    this.tell({ agents: true })
  }

  /** Sets a credential by scheme name of the card (`null` deletes it), and whether other origins get credentials. */
  trust(
    ref: string,
    trust: { readonly scheme: string; readonly credential?: GivenCredential | null; readonly allowsOrigins?: boolean },
  ): void {
    const entry = this.#agents.get(ref)
    if (!entry) return
    if (trust.credential !== undefined) entry.credentials.set(trust.scheme, trust.credential)
    if (trust.allowsOrigins !== undefined) entry.allowsOrigins = trust.allowsOrigins
    this.connections.forget(ref)
    this.tell({ agents: true })
  }

  /** Tests an agent's credentials; resolves when the result is known or the user has to log in. */
  async login(ref: string, redirectUri: string): Promise<Pick<LoginBrowser, 'browser'>> {
    const [browser, login] = [this.#browser, this.#agents.get(ref)?.credentials.login]
    await login?.begin({ redirectUri, browser }, (signal) => this.connections.attempt(ref, signal))
    return { browser }
  }

  #entry(ref: string, from: NamedAgent['from']): Entry {
    const { redirects, credentials = {} } = this.#deps
    const login = new AgentLogin(ref, redirects, () => this.tell({ agents: true }))
    // Credentials of the configuration are only for agents of the configuration.
    const own = from === 'given' && Object.hasOwn(credentials, ref) ? credentials[ref] : undefined
    return { from, credentials: new AgentCredentials(login, own), allowsOrigins: false }
  }

  openTab(): TabStream {
    const [oldest] = this.#tabs.values()
    if (this.#tabs.size >= maxTabs) oldest?.close()
    const tab = new TabStream(() => this.#tabs.delete(tab.id))
    this.#tabs.set(tab.id, tab)
    return tab
  }

  tab(id: string): TabStream | undefined {
    return this.#tabs.get(id)
  }

  get isWatched(): boolean {
    return this.#tabs.size > 0
  }

  tell(event: TabEvent): void {
    for (const tab of this.#tabs.values()) tab.tell(event)
  }

  close(): void {
    for (const tab of this.#tabs.values()) tab.close()
    for (const { credentials } of this.#agents.values()) credentials.login.stop()
    this.connections.close()
  }
}

/** Parses a dialect and a binding of a path; `auto` is negotiated. */
export function agentTarget(ref: string, dialect: string | undefined, binding: string | undefined) {
  const dialectName = dialectNames.find((each) => each === dialect)
  const bindingName = bindings.find((each): each is Binding => each === binding)
  return { ref, ...(dialectName && { dialect: dialectName }), ...(bindingName && { binding: bindingName }) }
}

const maxDeliveries = 500
/** Limits the memory for deliveries, because senders are not authenticated. */
const maxInboxBytes = 16 * 1024 * 1024
const maxDeliveryBytes = 1024 * 1024

/** The console's webhook: receives push notifications at an unguessable URL. */
class PushInbox {
  /** The unguessable part of the webhook's URL. */
  readonly secret = randomBytes(18).toString('base64url')
  readonly #deliveries: InboxDelivery[] = []
  #bytes = 0
  readonly #tell: (delivery: InboxDelivery) => void

  constructor(tell: (delivery: InboxDelivery) => void) {
    this.#tell = tell
  }

  isFor(secret: string): boolean {
    const [given, own] = [Buffer.from(secret), Buffer.from(this.secret)]
    return given.length === own.length && timingSafeEqual(given, own)
  }

  /** Newest first. */
  list(): readonly InboxDelivery[] {
    return this.#deliveries
  }

  async receive(request: Request): Promise<Response> {
    if (request.method !== 'POST') return await createPushReceiver({ onDelivery: () => undefined })(request)
    const bytes = await readBody(request, maxDeliveryBytes).catch(() => undefined)
    if (!bytes) return new Response(null, { status: 413 })
    const receive = createPushReceiver({
      maxBytes: maxDeliveryBytes,
      onDelivery: (delivery) => {
        const taken: InboxDelivery = {
          ...delivery,
          id: request.headers.get('x-a2a-delivery-id')?.slice(0, 200) ?? crypto.randomUUID(),
          receivedAt: new Date().toISOString(),
          headers: withoutSecrets(request.headers),
          body: new TextDecoder().decode(bytes),
        }
        this.#deliveries.unshift(taken)
        this.#bytes += Buffer.byteLength(taken.body)
        while (this.#deliveries.length > maxDeliveries || (this.#bytes > maxInboxBytes && this.#deliveries.length > 1))
          this.#bytes -= Buffer.byteLength(this.#deliveries.pop()?.body ?? '')
        this.#tell(taken)
      },
    })
    const { url, method, headers } = request
    return await receive(new Request(url, { method, headers, body: new Uint8Array(bytes) }))
  }
}

function withoutSecrets(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    [...headers].map(([name, value]) => [name, /authori|token|cookie|key/i.test(name) ? '[redacted]' : value]),
  )
}

const encoder = new TextEncoder()
/** Unread bytes after which the streams of agents are paused. */
const highWaterMark = 512 * 1024
/** Further unread bytes after which the tab is closed. */
const maxUnreadBytes = 8 * 1024 * 1024
const heartbeatMs = 15_000

/**
 * The event stream of one tab. Browsers open at most six HTTP/1.1 connections to a server, so the events of all calls of a
 * tab share one stream.
 */
class TabStream {
  readonly id = crypto.randomUUID()
  readonly response: Response
  /** Aborted when the page has disconnected. */
  readonly gone = new AbortController()
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  #waiting: (() => void)[] = []
  readonly #streams = new Map<number, AbortController>()

  constructor(onGone: () => void) {
    const heartbeat = setInterval(() => this.#write(':\n\n'), heartbeatMs).unref()
    this.gone.signal.addEventListener('abort', () => {
      clearInterval(heartbeat)
      this.#wake()
      onGone()
    })
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => this.#wake(),
        cancel: () => this.gone.abort(),
      },
      { highWaterMark, size: (chunk) => chunk.byteLength },
    )
    this.response = new Response(body, { headers: { ...sseHeaders, 'cache-control': 'no-store' } })
    this.tell({ tab: this.id })
  }

  tell(event: TabEvent): void {
    this.#write(`data: ${JSON.stringify(event)}\n\n`)
  }

  /** Forwards the body of a response, as fast as the page reads. */
  async carry(stream: number, body: ReadableStream<Uint8Array>): Promise<void> {
    const left = new AbortController()
    this.#streams.set(stream, left)
    const decoder = new TextDecoder()
    const reader = body.getReader()
    const leave = () => reader.cancel().catch(() => undefined) // the page has left
    const signal = AbortSignal.any([left.signal, this.gone.signal])
    signal.addEventListener('abort', leave, { once: true })
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done || signal.aborted) return
        this.tell({ stream, text: decoder.decode(value, { stream: true }) })
        await this.#drained()
      }
    } catch {
      // The page's client detects the incomplete stream and resumes it.
    } finally {
      this.#streams.delete(stream)
      this.tell({ stream, end: true })
    }
  }

  /** Aborts a stream that the page has left. */
  leave(stream: number): void {
    this.#streams.get(stream)?.abort()
  }

  close(): void {
    if (this.gone.signal.aborted) return
    this.gone.abort()
    this.#controller?.close()
  }

  #write(text: string): void {
    if (this.gone.signal.aborted) return
    this.#controller?.enqueue(encoder.encode(text))
    // A page that stopped reading reloads its state when it reconnects.
    if ((this.#controller?.desiredSize ?? 0) < -maxUnreadBytes) this.close()
  }

  async #drained(): Promise<void> {
    while (!this.gone.signal.aborted && (this.#controller?.desiredSize ?? 1) <= 0)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const wake of waiting) wake()
  }
}
