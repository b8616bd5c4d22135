/** The options of `serve` and `createHandler`: their types, and the names and kinds that calls are checked against. */
import type { Auth } from '../auth/requirement.js'
import {
  type DialectChoice,
  type ErrorProfile,
  errorProfiles,
  type PinnedDialect,
  type QuestionStatus,
  questionStatuses,
} from '../dialects/servers.js'
import type { SharedTask, SharingOperation } from '../engine/access.js'
import type { Agent, AgentRef } from '../engine/agent.js'
import { defaultEngineLimits } from '../engine/limits.js'
import type { EngineSettings } from '../engine/settings.js'
import { type Retention, retentionNames, settingNames } from '../engine/settings.js'
import type { Log } from '../model/log.js'
import { either, type NamesOf, namesIn } from '../model/option-names.js'
import type { AgentService, Caller } from '../model/service.js'
import { type PushOptions, pushNames } from '../push/create-push.js'
import type { Signer, SigningOptions } from '../signing/signer.js'
import { storeKind } from '../stores/complete-store.js'
import type { Store } from '../stores/store.js'
import { defaultRequestLimits } from '../transports/read-json.js'
import type { RegisterOptions } from './announce.js'
import type { PortOptions } from './bind.js'
import type { EditCard } from './card-forms.js'
import { type CardForm, cardForms } from './card-forms.js'
import type { Endpoint } from './endpoints.js'
import type { Limits } from './limits.js'
import type { ConnectionLimits, Deadlines } from './listener.js'
import type { MetricsPort } from './metrics.js'
import { type MountedAgent, mountedAgent } from './mounts.js'
import type { Audit } from './observe-calls.js'
import type { Rate } from './rate-limit.js'
import type { Route } from './routes.js'

/** Options of `createHandler`. */
export interface HandlerOptions {
  /**
   * The store for tasks: a store, `memory` (default), `file:DIR` or `sqlite:PATH` for one machine, or
   * `postgres://user@host/database` for several.
   */
  readonly store?: Store | string
  /** The schemes of which a caller must satisfy one. `'none'` or absent: every caller is `anonymous`. */
  readonly auth?: Auth | 'none'
  /** The address clients use, if it is not the one the server binds: `https://agents.example`. */
  readonly publicUrl?: string
  /**
   * The path below which requests arrive, such as `/api/a2a`. The server removes it from their paths and answers other
   * paths with 404. Default: the path of `publicUrl`, removed from requests that have it. Required (`TypeError`) if that
   * path is also the path of an agent, a tenant, a route or a dialect; `/` if a proxy removes it.
   */
  readonly basePath?: string
  /** Origins of web pages that may call the agents, such as `https://app.example`. Default: none. */
  readonly cors?: readonly string[]
  /**
   * The dialects to serve, by name or as dialects of your own. Default: `v1`, `v0.3` (with v0.2) and `v0.1`.
   *
   * ```ts
   * dialects: ['v1', { dialect: 'task-rest', path: '/legacy' }, myDialect]
   * ```
   */
  readonly dialects?: DialectChoice
  /** Limits of the data that callers may send and store. */
  readonly limits?: Limits
  /** Allowed addresses of webhooks, and options of their calls. Default: https, on the internet. */
  readonly push?: PushOptions
  /** Further paths on the same address: an application's API, a page. They take precedence over the agents. */
  readonly routes?: readonly Route[]
  /** Other protocols in front of the agents, such as `openAiEndpoint()`. They take precedence over the agents. */
  readonly endpoints?: readonly Endpoint[]
  /** Receives what callers must not see. Default: warnings and errors go to stderr, one line each. `false`: nowhere. */
  readonly log?: Log | false
  /** Options that few programs set. */
  readonly advanced?: AdvancedOptions
}

/** Options of `createHandler` and `serve` that few programs set. */
export interface AdvancedOptions {
  /**
   * Further names that requests may have in `Host`, such as `agents.example`. If given, the server rejects other names;
   * localhost, IP addresses and the host of `publicUrl` are always accepted. Default with `serve`, without `auth` on
   * loopback: none; otherwise every host is accepted.
   */
  readonly allowedHosts?: readonly string[]
  /** Tenants of every agent, as path prefixes and in requests. */
  readonly tenants?: readonly string[]
  /** Access of callers to tenants and tasks. */
  readonly policy?: Policy
  /** When ended tasks are removed. Default: 7 days after they ended. */
  readonly retention?: Retention
  /** Keys that sign cards and webhook calls, published at `/.well-known/jwks.json`; or a signer. */
  readonly signing?: SigningOptions | Signer
  /**
   * The card for readers that name no version: that of a dialect, or `hybrid`, which readers of v1.0 and v0.3 understand.
   * Default: `hybrid` while v0.3 is served. `chat-rpc` is a hybrid card whose `url` is the chat-rpc endpoint.
   */
  readonly card?: CardForm
  /**
   * Changes the card of each version before it is signed. It may drop and reorder interfaces, which are served anyway,
   * and cannot change security members.
   *
   * ```ts
   * editCard: (card, version) => ({ ...card, supportedInterfaces: card.supportedInterfaces.filter(isWanted) })
   * ```
   */
  readonly editCard?: EditCard
  /**
   * Requires the credentials of `auth` for cards too. Clients must then send credentials with the request for the card.
   * Default false.
   */
  readonly protectCard?: boolean
  /** The release that defines the HTTP and gRPC statuses of v1.0's errors. Default 1.0.1. */
  readonly errors?: ErrorProfile
  /** The `status` of questions in the dialect `invoke`. Default `input_required`. */
  readonly invokeQuestions?: QuestionStatus
  /** Serves calls that name no version if they can only be v1.0. Default true. */
  readonly assumeV1?: boolean
  /** Time without an event after which a stream gets a comment, so that proxies keep it open. Default 15 s. */
  readonly heartbeatMs?: number
  /** Leases and grace periods of the engine. */
  readonly engine?: Partial<Omit<EngineSettings, 'limits'>>
  /** Wraps the operations of an agent: access rules, limits, replaced operations. */
  readonly wrap?: (service: AgentService, agent: Agent) => AgentService
  /** Finds agents that `turn.call` names and that this server does not serve. */
  readonly resolve?: (ref: AgentRef) => AgentService | undefined
  /** Logs every call and its dialect at the level `debug`. Default false. */
  readonly logCalls?: boolean
  /** Receives one entry for each call when it ends, rejected calls included. Entries hold no content. */
  readonly audit?: Audit
}

/** Limits of a port's connections. */
export interface ConnectionOptions {
  /** Deadlines for slow connections. */
  readonly deadlines?: Deadlines
  /** Limits of open connections. Default: 10,000 in all, 1,000 from one public address. */
  readonly connections?: ConnectionLimits
}

/** Options of `serve`. */
export interface ServeOptions extends Omit<HandlerOptions, 'advanced'>, PortOptions {
  /** Serves `/metrics` for Prometheus: `true` on the agents' port, to callers only; or on its own port. Default false. */
  readonly metrics?: boolean | MetricsPort
  /**
   * A registry to publish the agents in: published when the port is open, renewed while it is, withdrawn when it closes.
   * The server starts without a registry that is unreachable, and retries.
   */
  readonly register?: string | RegisterOptions
  /** Options that few programs set. */
  readonly advanced?: AdvancedServeOptions
}

/** Options of `serve` that few programs set. */
export interface AdvancedServeOptions extends AdvancedOptions, ConnectionOptions {
  /**
   * Serves gRPC on the same port; its code is loaded with the first such connection. Default: true, on Bun false, where
   * `serve` rejects true.
   */
  readonly grpc?: boolean
}

/** An agent in the list that `serve` takes. */
export interface ServedAgent extends MountedAgent {
  /** A port of its own, at whose root the agent is. */
  readonly port?: number
}

/** Options without the level `advanced`, with a log. */
export type SettledOptions<Options extends { readonly advanced?: object } = HandlerOptions> = Omit<
  Options,
  'advanced' | 'log'
> &
  NonNullable<Options['advanced']> & { readonly log: Log }

/** Puts the members of `advanced` beside the others. */
export function settleOptions<Options extends { readonly advanced?: object }>(
  { advanced, ...common }: Options,
  log: Log,
): SettledOptions<Options> {
  return { ...common, ...advanced, log } as unknown as SettledOptions<Options> // TypeScript cannot spread generic types
}

/** A store, or its address. */
export const storeOption = either('string', storeKind).withExample(
  "a store, such as `new MemoryStore()`, or an address, such as 'sqlite:tasks.sqlite'",
)

export const rateLimit = either(['none'], { perSecond: 'limit', burst: 'limit' } satisfies NamesOf<Rate>)

const limits = {
  ...namesIn(defaultEngineLimits),
  ...namesIn(defaultRequestLimits),
  rate: rateLimit,
  failedAuthentication: rateLimit,
} satisfies NamesOf<Limits>

const register = {
  url: true,
  namespace: true,
  tags: true,
  headers: true,
  ttlSeconds: true,
  address: true,
  probe: { text: true },
} satisfies NamesOf<RegisterOptions>

export const servedAgent = { ...mountedAgent, port: 'port' } satisfies NamesOf<ServedAgent>
export const closeOptions = { deadlineMs: 'number' } as const

const advanced = {
  allowedHosts: true,
  tenants: 'strings',
  policy: { tenants: 'function', canAccess: 'function' },
  retention: retentionNames,
  signing: true,
  card: cardForms,
  editCard: 'function',
  protectCard: 'boolean',
  errors: errorProfiles,
  invokeQuestions: questionStatuses,
  assumeV1: 'boolean',
  heartbeatMs: 'number',
  engine: settingNames,
  wrap: 'function',
  resolve: 'function',
  logCalls: 'boolean',
  audit: 'function',
} satisfies NamesOf<AdvancedOptions>

export const handlerOptions = {
  store: storeOption,
  auth: true,
  publicUrl: true,
  basePath: true,
  cors: true,
  dialects: either(['all'], [{ dialect: true, path: true } satisfies NamesOf<PinnedDialect>, 'name']).withExample(
    "'all', or a list: ['v1']",
  ),
  limits,
  push: pushNames,
  // Objects with behaviour, which may be instances of classes. `assemble` checks them.
  endpoints: 'list',
  routes: [{ path: true, answer: true, isPublic: 'boolean' } satisfies NamesOf<Route>],
  log: either('function', 'false'),
  advanced,
} satisfies NamesOf<HandlerOptions>

export const portOptions = {
  port: 'port',
  host: 'string',
  // As `node:tls` takes it.
  tls: true,
} satisfies NamesOf<PortOptions>

export const connectionOptions = {
  deadlines: {
    firstByteMs: 'number',
    headersMs: 'number',
    bodyMs: 'number',
    readMs: 'number',
    minReadRate: 'number',
  },
  connections: { max: 'limit', maxPerAddress: 'limit' },
} satisfies NamesOf<ConnectionOptions>

export const serveOptions = {
  ...portOptions,
  ...handlerOptions,
  metrics: either('boolean', { port: 'port', host: 'string' } satisfies NamesOf<MetricsPort>),
  register: either('string', register),
  advanced: { ...advanced, ...connectionOptions, grpc: 'boolean' },
} satisfies NamesOf<ServeOptions>

/** Access of callers to tenants and to tasks of other owners. */
export interface Policy {
  /**
   * Whether a caller may use a tenant. For a caller that may not, the tenant does not exist. With this option the public
   * card names no tenants. Default: every caller may use every tenant.
   */
  readonly tenants?: (caller: Caller, tenant: string) => boolean
  /**
   * Whether a caller may access a task of another owner, in the tenant that the call addresses. For a caller that may not,
   * the task does not exist. Lists contain the caller's own tasks only; webhooks belong to their owner. Default: no access.
   */
  readonly canAccess?: (caller: Caller, task: SharedTask, operation: SharingOperation) => boolean | Promise<boolean>
}
