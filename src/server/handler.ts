/**
 * Agents as one function from `Request` to `Response`. No port: `serve` and the framework mounts put it
 * behind one.
 */

import type { Auth } from '../auth/requirement.js'
import type { Connection } from '../auth/scheme.js'
import type { DialectChoice, ErrorProfile, QuestionStatus } from '../dialects/servers.js'
import type { ProvidedCredential } from '../engine/admission/provide-credential.js'
import type { Agent, AgentRef } from '../engine/agent.js'
import type { EngineSettings, Retention } from '../engine/settings.js'
import type { Log } from '../model/log.js'
import { assertOptions } from '../model/option-names.js'
import type { AgentService } from '../model/service.js'
import type { PushOptions } from '../push/create-push.js'
import type { PushOperations } from '../push/dead-deliveries.js'
import { type Signer, type SigningOptions, toSigner } from '../signing/signer.js'
import type { Store } from '../stores/store.js'
import { assemble } from './assemble.js'
import type { CardForm } from './card-forms.js'
import { settleLog } from './default-log.js'
import type { EditCard } from './edit-card.js'
import { assertPublicUrl } from './hosts.js'
import type { Limits } from './limits.js'
import type { Agents, Mount } from './mounts.js'
import type { Audit } from './observe-calls.js'
import { useStore } from './open-store.js'
import { handlerOptions } from './option-names.js'
import type { Policy } from './policy.js'
import type { Route } from './routes.js'

export interface HandlerOptions {
  /** A store, `memory` (default), `file:DIR` for one process, `sqlite:PATH`, or `postgres://user@host/database` for several processes at once. */
  readonly store?: Store | string
  /** Who may call: whoever meets any one of these. Without it there is one caller, `anonymous`. */
  readonly auth?: Auth | 'none'
  /** The address clients use, when it is not the one the server binds: `https://agents.example`. */
  readonly publicUrl?: string
  /**
   * The path below which requests arrive, such as `/api/a2a`. It is removed from their paths; other paths are answered
   * with 404. Default: the path of `publicUrl`, removed from requests that have it. Required (`TypeError`) if that path
   * is also the path of an agent, a tenant, a route or a dialect; `/` if a proxy removes it.
   */
  readonly basePath?: string
  /**
   * Further names that requests may have in `Host`, such as `agents.example`. If given, other names are refused;
   * localhost, IP addresses and the host of `publicUrl` are always accepted. Default with `serve`, without `auth` on
   * loopback: none; otherwise every host is accepted.
   */
  readonly allowedHosts?: readonly string[]
  /** Tenants of every agent, as path prefixes and in requests. */
  readonly tenants?: readonly string[]
  /** Origins that browsers may call from. Default: none. */
  readonly cors?: readonly string[]
  /** Who may use which tenant, and whose tasks. */
  readonly policy?: Policy
  /** How much callers may send, and have at once. */
  readonly limits?: Limits
  /** Silence on a stream before a comment is sent. Default 15 s. */
  readonly heartbeatMs?: number
  /**
   * The dialects to speak, by name or as dialects of your own. Default: `v1`, `v0.3` (with v0.2) and `v0.1`.
   *
   * ```ts
   * dialects: ['v1', { dialect: 'task-rest', path: '/legacy' }, myDialect]
   * ```
   */
  readonly dialects?: DialectChoice
  /**
   * The card for readers that name no version: that of a dialect, or `hybrid`, which readers of v1.0 and v0.3 understand.
   * Default: `hybrid` while v0.3 is offered. `chat-rpc` is a hybrid card whose `url` is the chat-rpc endpoint.
   */
  readonly card?: CardForm
  /**
   * Changes the card of each version before it is signed. It may drop and reorder interfaces, which are served all the
   * same, and cannot change security members.
   *
   * ```ts
   * editCard: (card, version) => ({ ...card, supportedInterfaces: card.supportedInterfaces.filter(isWanted) })
   * ```
   */
  readonly editCard?: EditCard
  /**
   * Asks for the credentials of `auth` on every path of a card, too, for cards that hold sensitive information. Clients
   * must send credentials with the request for the card. Default false.
   */
  readonly protectCard?: boolean
  /** Keys that sign cards and push deliveries, published at `/.well-known/jwks.json`; or a signer of one's own. */
  readonly signing?: SigningOptions | Signer
  /** Which release's HTTP and gRPC statuses v1.0's errors have. Default 1.0.1. */
  readonly errors?: ErrorProfile
  /** The `status` of questions in the dialect `invoke`. Default `input_required`. */
  readonly invokeQuestions?: QuestionStatus
  /** Serve calls that name no version, if they can only be v1.0. Default true. */
  readonly assumeV1?: boolean
  readonly retention?: Retention
  /** Where webhooks may be, and how they are called. Default: by https, on the internet. */
  readonly push?: PushOptions
  /** Leases and grace periods of the engine. */
  readonly engine?: Partial<Omit<EngineSettings, 'limits'>>
  /** Wraps the operations of an agent: access rules, limits, overrides of single operations. */
  readonly wrap?: (service: AgentService, agent: Agent) => AgentService
  /** Finds agents that `turn.call` names and that are not served here. */
  readonly resolve?: (ref: AgentRef) => AgentService | undefined
  /** What else the address carries: the API of an application, a page. Asked before the agents. */
  readonly routes?: readonly Route[]
  /** Receives what callers must not see. Default: warnings and errors go to stderr, one line each. `false`: nowhere. */
  readonly log?: Log | false
  /** Whether `log` is told of every call and its dialect too, at the level `debug`. Default: no. */
  readonly logCalls?: boolean
  /** Told who did what, when it is done: one entry for each call, refused ones included. It never holds what was said. */
  readonly audit?: Audit
}

/** Options whose `log` is settled. */
export interface LoggedOptions extends Omit<HandlerOptions, 'log'> {
  readonly log: Log
}

export interface FetchHandler {
  /** Answers a request. Who knows the connection it came on says so: client certificates and addresses are found there. */
  readonly fetch: (request: Request, connection?: Connection) => Promise<Response>
  /** The operations of each agent, by name: for calls inside this process. */
  readonly services: ReadonlyMap<string, AgentService>
  /** For operators: deliveries to webhooks that were given up. */
  readonly push: PushOperations
  /**
   * Hands in the credential that a task in AUTH_REQUIRED waits for, however it came here; the task goes on.
   * `agent` is the agent's name, needed where there are several.
   */
  provideCredential(provided: ProvidedCredential & { readonly agent?: string }): Promise<void>
  /** The name and the address of each agent. */
  readonly agents: readonly { readonly name: string; readonly url: string }[]
  /** Where each agent is mounted. */
  readonly mounts: readonly Mount[]
  /** Stops admitting, waits for running turns up to the deadline, hands the rest over, closes the store it opened. */
  close(options?: { readonly deadlineMs?: number }): Promise<void>
}

/**
 * Makes the handler. Cards need `publicUrl`; without it they say `http://localhost`.
 *
 * ```ts
 * const handler = await createHandler(agent, { publicUrl: 'https://agents.example/shout' })
 * const response = await handler.fetch(request)
 * ```
 */
export async function createHandler(agents: Agents, options: HandlerOptions = {}): Promise<FetchHandler> {
  assertOptions('createHandler', options, handlerOptions)
  assertPublicUrl(options.publicUrl)
  const signer = options.signing && (await toSigner(options.signing))
  const log = settleLog(options.log)
  const { store, release } = await useStore(options.store, log)
  const assembly = await assemble(agents, { ...options, log }, { store, signer }).catch(async (error: unknown) => {
    await release()
    throw error
  })
  const { fetch, services, push, agents: served, mounts, provideCredential } = assembly
  const close: FetchHandler['close'] = async (closing) => {
    await assembly.close(closing)
    await release()
  }
  return { fetch, services, push, agents: served, mounts, provideCredential, close }
}
