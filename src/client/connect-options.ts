import type { ClientDialect } from '../dialects/client-dialect.js'
import type { DialectName } from '../dialects/dialect.js'
import { type AgentCard, type Binding, bindings } from '../model/agent-card.js'
import { either, type NamesOf } from '../model/option-names.js'
import type { AgentService } from '../model/service.js'
import type { FetchFunction } from '../transports/in-process.js'
import type { Choice } from './agent-client.js'
import type { CardCache } from './card-cache.js'
import type { CircuitBreakerOptions } from './circuit-breaker.js'
import type { CredentialSources } from './credentials/credential.js'
import type { CardResolver } from './resolve-name.js'
import type { RetryOptions } from './retry.js'
import { type SignatureOptions, type SignaturePolicy, signaturePolicies } from './verification.js'
import type { WireEntry } from './wire-log.js'

/**
 * A warning of `connect`: the connection works, but not as expected. `message` is a sentence for people.
 *
 * - `card`: the card has a problem, or was found at another place.
 * - `signature`: the card has a signature that is not valid, or not in the form of the specification.
 * - `credentials-withheld`: headers and credentials are not sent to `origin`. If `canAllow`, adding it to `allowedOrigins`
 *   sends them.
 * - `interface-fallback`: calls use another interface of the agent.
 * - `instance-fallback`: calls go to another instance of the agent, at `url`.
 * - `instance-skipped`: the card of an instance cannot be read.
 */
export type ConnectWarning =
  | { readonly code: 'card' | 'signature' | 'instance-skipped'; readonly message: string }
  | {
      readonly code: 'credentials-withheld'
      readonly message: string
      readonly origin: string
      readonly canAllow: boolean
    }
  | { readonly code: 'interface-fallback'; readonly message: string; readonly choice: Choice }
  | { readonly code: 'instance-fallback'; readonly message: string; readonly url: string }

/** A card as a value, or the JSON document of a card of any protocol version. */
export type CardDocument = AgentCard | Readonly<Record<string, unknown>>

/**
 * An agent to connect to: its address or name, its card, or an agent of this process. The latter is the result of `agent`
 * or of `createHandler`, an `AgentService`, or a function from `Request` to `Response`.
 */
export type ConnectTarget =
  | string
  | CardDocument
  | { readonly card: { readonly name: string }; readonly handler: (...turn: never[]) => unknown }
  | { readonly fetch: FetchFunction }
  | AgentService
  | FetchFunction

/** Options of `connect` and `connectAgents`. All are optional. */
export interface ConnectOptions {
  /** Uses only this binding. */
  readonly binding?: Binding
  /** Uses only this dialect. If it has no card, as `invoke`, the reference is the agent's address. */
  readonly dialect?: DialectName
  /** Your own dialects, which the client supports beside those of this package. */
  readonly dialects?: readonly ClientDialect[]
  /** Uses one interface or fails: no older version, no other binding. Default false. */
  readonly pin?: boolean
  /** Credentials for the security schemes of the card: `apiKeyCredential('…')`, `bearerCredential('…')`, `oauth2({ … })`. */
  readonly credentials?: CredentialSources
  /** Headers for every call. They are treated as secrets. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * Content of files in version 0.3 over gRPC and HTTP+JSON: `base64` text, as in the Python, Go and Java SDKs, or `raw`
   * bytes, as in the JavaScript SDK. Default: writes base64 text; reads canonical base64 text as such, and all other
   * content as raw bytes.
   */
  readonly fileBytes?: 'raw' | 'base64'
  /**
   * Extensions to ask for, as `usage` or as URIs. Calls name those that the card declares. To name others too, use the option
   * `extensions` of a call.
   */
  readonly extensions?: readonly (string | { readonly uri: string })[]
  /** Time for one attempt of a unary call, in milliseconds. Default 60 000; 0 means no limit. */
  readonly timeoutMs?: number
  /** Aborts the search for the card. Calls have their own signals. */
  readonly signal?: AbortSignal
  /** Retries of calls that are safe to repeat. */
  readonly retry?: RetryOptions
  /** When to stop calling an agent that does not answer. */
  readonly breaker?: CircuitBreakerOptions
  /** Whether cards must be signed, by which keys, and over which content. Default `warn`. */
  readonly signatures?: SignaturePolicy | SignatureOptions
  /** Allows interfaces at addresses in private networks although the user named a public address. Default false. */
  readonly allowPrivate?: boolean
  /** Other origins that interfaces of the card may have, and that get credentials. `*` allows all. */
  readonly allowedOrigins?: readonly string[]
  /**
   * Allows agents from a registry at addresses of the registry's own class: loopback if it is on loopback, private if it is
   * private. If false, they must be on the internet or in `allowedOrigins`. Default true.
   */
  readonly allowNeighbours?: boolean
  /** Look up agents by name, in registries and lists. Asked in order, before a reference is used as a host. */
  readonly resolvers?: readonly CardResolver[]
  /** Cache of cards, which connections may share. Default: none. */
  readonly cache?: CardCache
  /** Replaces the guarded `fetch` of the client. Addresses are checked before the request, connections are not. */
  readonly fetch?: typeof fetch
  /** Called with every request, response and stream chunk, with secrets redacted. */
  readonly onWire?: (entry: WireEntry) => void
  /**
   * Called when the connection works, but not as expected: a problem of the card, withheld credentials, a fallback. Errors
   * that it throws are ignored.
   */
  readonly onWarning?: (warning: ConnectWarning) => void
}

/** Names and kinds of the options, for `assertOptions`. */
export const connectOptionNames = {
  binding: bindings,
  dialect: 'string',
  dialects: true,
  pin: 'boolean',
  credentials: true,
  headers: true,
  fileBytes: ['raw', 'base64'],
  extensions: 'list',
  timeoutMs: 'limit',
  signal: true,
  retry: { attempts: 'limit', firstDelayMs: 'limit', maxDelayMs: 'limit' } satisfies NamesOf<RetryOptions>,
  breaker: { failures: 'limit', openMs: 'limit' } satisfies NamesOf<CircuitBreakerOptions>,
  signatures: either(signaturePolicies, {
    policy: signaturePolicies,
    keys: true,
    keyOrigins: 'strings',
    forms: 'strings',
  } satisfies NamesOf<SignatureOptions>),
  allowPrivate: 'boolean',
  allowedOrigins: 'strings',
  allowNeighbours: 'boolean',
  resolvers: true,
  cache: true,
  fetch: 'function',
  onWire: 'function',
  onWarning: 'function',
} satisfies NamesOf<ConnectOptions>
