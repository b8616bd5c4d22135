/** What one browser has: the agents it named, its credentials, its calls, its webhook. All of it in memory. */
import { randomBytes } from 'node:crypto'
import type { CredentialSources } from '../client/credentials/index.js'
import { type DialectName, dialectNames } from '../dialects/dialect.js'
import { type Binding, bindings } from '../model/agent-card.js'
import { createA2aDoor } from './a2a-door.js'
import { AgentCredentials } from './agent-credentials.js'
import { AgentLogin, type LoginPlace, type Redirects } from './agent-login.js'
import { CallLog } from './call-log.js'
import { Connections } from './connections.js'
import type { GivenCredential, NamedAgent, TabEvent } from './console-api.js'
import { PushInbox } from './push-inbox.js'
import { TabStream } from './tab-stream.js'

const mostAgents = 200
const mostTabs = 50

export interface SessionParts {
  readonly registry?: string | undefined
  readonly registryHeaders?: Readonly<Record<string, string>> | undefined
  /** Agents that whoever started the console named. */
  readonly given: readonly string[]
  /** And credentials for some of them. */
  readonly credentials?: Readonly<Record<string, CredentialSources>> | undefined
  readonly redirects: Redirects
}

interface Entry {
  readonly from: NamedAgent['from']
  readonly credentials: AgentCredentials
  allowsOrigins: boolean
}

export class Session {
  readonly #parts: SessionParts
  readonly #agents = new Map<string, Entry>()
  readonly #tabs = new Map<string, TabStream>()
  readonly calls = new CallLog((call) => this.tell({ call }))
  readonly inbox = new PushInbox((delivery) => this.tell({ delivery: delivery.id }))
  readonly connections: Connections
  readonly answer: ReturnType<typeof createA2aDoor>
  /** The browser that has this session shows it when it comes back from a login, however many it has begun. */
  readonly #browser = randomBytes(18).toString('base64url')
  usedAt = performance.now()

  constructor(parts: SessionParts) {
    const { registry, registryHeaders, given } = parts
    this.#parts = parts
    this.connections = new Connections({
      calls: this.calls,
      registry,
      registryHeaders,
      credentialsOf: (ref) => this.#agents.get(ref)?.credentials.options ?? {},
      allowsOrigins: (ref) => this.#agents.get(ref)?.allowsOrigins ?? false,
    })
    this.answer = createA2aDoor(this.connections)
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

  /** False when there are too many. */
  name(ref: string, from: NamedAgent['from']): boolean {
    if (this.#agents.has(ref)) return true
    if (this.#agents.size >= mostAgents) return false
    this.#agents.set(ref, this.#entry(ref, from))
    this.tell({ agents: true })
    return true
  }

  unname(ref: string): void {
    this.#agents.get(ref)?.credentials.login.stop()
    this.#agents.delete(ref)
    this.connections.forget(ref)
    this.tell({ agents: true })
  }

  /** Credentials are by the card's names of schemes; `null` takes one back. */
  trust(
    ref: string,
    trust: { readonly scheme: string; readonly credential?: GivenCredential | null; readonly allowsOrigins?: boolean },
  ): void {
    const entry = this.#agents.get(ref)
    if (!entry) return
    if (trust.credential !== undefined) entry.credentials.hold(trust.scheme, trust.credential)
    if (trust.allowsOrigins !== undefined) entry.allowsOrigins = trust.allowsOrigins
    this.connections.forget(ref)
    this.tell({ agents: true })
  }

  /** Tries an agent's credentials; resolves when it is known how that went, or that somebody has to log in. */
  async login(ref: string, redirectUri: string): Promise<Pick<LoginPlace, 'browser'>> {
    const [browser, login] = [this.#browser, this.#agents.get(ref)?.credentials.login]
    await login?.begin({ redirectUri, browser }, (signal) => this.connections.attempt(ref, signal))
    return { browser }
  }

  #entry(ref: string, from: NamedAgent['from']): Entry {
    const { redirects, credentials = {} } = this.#parts
    const login = new AgentLogin(ref, redirects, () => this.tell({ agents: true }))
    // What whoever started the console gave is for the agents that they named.
    const own = from === 'given' && Object.hasOwn(credentials, ref) ? credentials[ref] : undefined
    return { from, credentials: new AgentCredentials(login, own), allowsOrigins: false }
  }

  openTab(): TabStream {
    const [oldest] = this.#tabs.values()
    if (this.#tabs.size >= mostTabs) oldest?.close()
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

/** A dialect and a binding as they stand in an address; `auto` is up to the card. */
export function wayOf(ref: string, dialect: string | undefined, binding: string | undefined) {
  const spoken = dialectNames.find((each): each is DialectName => each === dialect)
  const over = bindings.find((each): each is Binding => each === binding)
  return { ref, ...(spoken && { dialect: spoken }), ...(over && { binding: over }) }
}
