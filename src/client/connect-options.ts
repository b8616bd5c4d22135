/** What can be said about a connection. Every member has a default that is safe. */
import type { ClientDialect } from '../dialects/client-dialect.js'
import type { DialectName } from '../dialects/dialect.js'
import type { Binding } from '../model/agent-card.js'
import type { Choice } from './agent-client.js'
import type { CardCache } from './card-cache.js'
import type { CircuitBreakerOptions } from './circuit-breaker.js'
import type { CredentialSources } from './credentials/index.js'
import type { CardResolver } from './resolve-card.js'
import type { RetryOptions } from './retry.js'
import type { SignatureOptions, SignaturePolicy } from './verify-card.js'

/** One exchange as it was on the wire, secrets taken out: for a debug log. */
export interface WireEntry {
  readonly direction: 'request' | 'response' | 'event'
  /** The same for a request and everything that follows from it; no other request of any connection has it. */
  readonly exchange: string
  readonly binding: Choice['binding'] | 'card' | 'keys'
  /** Method and address, or the rpc. */
  readonly what: string
  readonly status?: number | string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly ms?: number
}

export interface ConnectOptions {
  /** Only this binding. */
  readonly binding?: Binding
  /** Only this dialect. If it has no card, as `invoke`, the reference is the agent's address. */
  readonly dialect?: DialectName
  /** Dialects of your own, which the client speaks beside those of this package. */
  readonly dialects?: readonly ClientDialect[]
  /** Speak what was asked for or fail: no older version, no other binding. */
  readonly pin?: boolean
  /** How to prove who calls, by the card's security schemes: `apiKey('…')`, `bearer('…')`, `oauth2({ … })` … */
  readonly credentials?: CredentialSources
  /** Headers for every call; they are taken for secrets. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Content of files in 0.3 over gRPC and HTTP+JSON: `base64` text, as the Python, Go and Java SDKs have it, or `raw`
   * bytes, as the JavaScript SDK has it. Default: base64 text is written; canonical base64 text is read as such, all other
   * content as raw bytes.
   */
  readonly fileBytes?: 'raw' | 'base64'
  /** For one attempt of a unary call. Default 60 s; 0 is none. */
  readonly timeoutMs?: number
  /** Stops the search for the card. Calls of the client have signals of their own. */
  readonly signal?: AbortSignal
  readonly retry?: RetryOptions
  readonly breaker?: CircuitBreakerOptions
  /** Whether cards must be signed, by whom, and over what. Default `warn`, of signatures that are there and not good. */
  readonly signatures?: SignaturePolicy | SignatureOptions
  /** Addresses inside private networks may be followed, although the user named a public one. */
  readonly allowPrivate?: boolean
  /** Other origins that interfaces of the card may be at, and that may get credentials; another port is another origin. */
  readonly allowedOrigins?: readonly string[]
  /**
   * Agents that a registry knows may be at addresses of the registry's own class: loopback beside loopback, private
   * beside private. Default true; with false they must be on the internet or in `allowedOrigins`.
   */
  readonly allowNeighbours?: boolean
  /** Finds agents by name, in registries and lists. Asked in order, before a reference is taken for a host. */
  readonly resolvers?: readonly CardResolver[]
  /** Cards that were read before: share one between connections, and they are asked for only when they may have changed. */
  readonly cache?: CardCache
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch
  readonly onWire?: (entry: WireEntry) => void
  /** Things worth knowing that are no failures: a card's faults, an unsigned card, a fallback. */
  readonly onWarning?: (warning: string) => void
}
