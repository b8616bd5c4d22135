/** What one browser has: the agents it named, its credentials, its calls, its webhook. All of it in memory. */
import type { Binding } from '../client/agent-client.js'
import { type DialectName, dialectNames } from '../dialects/dialect.js'
import { createA2aDoor } from './a2a-door.js'
import { CallLog } from './call-log.js'
import { Connections } from './connections.js'
import type { CredentialKind, GivenCredential, NamedAgent, TabEvent } from './console-api.js'
import { PushInbox } from './push-inbox.js'
import { TabStream } from './tab-stream.js'

const mostAgents = 200
const mostTabs = 50

export interface SessionParts {
  readonly registry?: string | undefined
  readonly registryHeaders?: Readonly<Record<string, string>> | undefined
  /** Agents that whoever started the console named. */
  readonly given: readonly string[]
}

interface Entry {
  readonly from: NamedAgent['from']
  credential?: GivenCredential | undefined
  allowsOrigins: boolean
}

export class Session {
  readonly #agents = new Map<string, Entry>()
  readonly #tabs = new Map<string, TabStream>()
  readonly calls = new CallLog((call) => this.tell({ call }))
  readonly inbox = new PushInbox((delivery) => this.tell({ delivery }))
  readonly connections: Connections
  readonly answer: ReturnType<typeof createA2aDoor>
  usedAt = performance.now()

  constructor({ registry, registryHeaders, given }: SessionParts) {
    this.connections = new Connections({
      calls: this.calls,
      registry,
      registryHeaders,
      credentialOf: (ref) => this.#agents.get(ref)?.credential,
      allowsOrigins: (ref) => this.#agents.get(ref)?.allowsOrigins ?? false,
    })
    this.answer = createA2aDoor(this.connections)
    for (const ref of given) this.#agents.set(ref, { from: 'given', allowsOrigins: false })
  }

  get agents(): NamedAgent[] {
    return [...this.#agents].map(([ref, { from, credential, allowsOrigins }]) => ({
      ref,
      from,
      allowsOrigins,
      ...(credential && { credential: credential.kind satisfies CredentialKind }),
    }))
  }

  has(ref: string): boolean {
    return this.#agents.has(ref)
  }

  /** False when there are too many. */
  name(ref: string, from: NamedAgent['from']): boolean {
    if (this.#agents.has(ref)) return true
    if (this.#agents.size >= mostAgents) return false
    this.#agents.set(ref, { from, allowsOrigins: false })
    this.tell({ agents: true })
    return true
  }

  unname(ref: string): void {
    this.#agents.delete(ref)
    this.connections.forget(ref)
    this.tell({ agents: true })
  }

  trust(ref: string, trust: { readonly credential?: GivenCredential | null; readonly allowsOrigins?: boolean }): void {
    const entry = this.#agents.get(ref)
    if (!entry) return
    if (trust.credential !== undefined) entry.credential = trust.credential ?? undefined
    if (trust.allowsOrigins !== undefined) entry.allowsOrigins = trust.allowsOrigins
    this.connections.forget(ref)
    this.tell({ agents: true })
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
    this.connections.close()
  }
}

/** A dialect and a binding as they stand in an address; `auto` is up to the card. */
export function wayOf(ref: string, dialect: string | undefined, binding: string | undefined) {
  const spoken = dialectNames.find((each): each is DialectName => each === dialect)
  const over = (['JSONRPC', 'HTTP+JSON', 'GRPC'] as const).find((each): each is Binding => each === binding)
  return { ref, ...(spoken && { dialect: spoken }), ...(over && { binding: over }) }
}
