/** The API between the console's page and its server, beside the calls to agents. */
import type { Choice } from '../client/agent-client.js'
import type { DeviceCode } from '../client/credentials/oauth2-flows.js'
import type { PushDelivery } from '../client/push-receiver.js'
import type { Verification } from '../client/verification.js'
import type { WireEntry } from '../client/wire-log.js'
import type { DialectName } from '../dialects/dialect.js'
import type { CardReport } from '../dialects/validate-card/index.js'
import type { AgentCard } from '../model/agent-card.js'
import type { Operation } from '../model/operations.js'
import type { DeadDelivery } from '../push/dead-letters.js'

/** The header of every request of the page. Pages of other origins cannot send it without a CORS preflight. */
export const consoleHeader = 'x-dragoman-console'
/** Response header of calls: the id of the call in the call log. */
export const callHeader = 'x-dragoman-call'
/** Request header of streaming calls: the tab and the stream number; the events arrive through the tab's stream. */
export const tabHeader = 'x-dragoman-tab'

/** The session of a browser: agents, registry and features of the console. */
export interface ConsoleSession {
  readonly version: string
  readonly agents: readonly NamedAgent[]
  /** URL of the registry, if there is one. */
  readonly registry?: string
  /** The console can read dead letters. */
  readonly hasDeadLetters: boolean
  /** URL of the console's webhook. */
  readonly receiver: string
  /** The agent of the Workflows screen, if one was given. */
  readonly workflow?: { readonly ref: string }
  /** The session needed a login, so that the user can log out. */
  readonly hasLogin: boolean
}

/** An agent that the console may call, because a user or the configuration named it. */
export interface NamedAgent {
  /** A URL, or `registry:NAMESPACE/NAME`. */
  readonly ref: string
  readonly from: 'given' | 'pasted' | 'registry'
  /** Kinds of the given credentials, by scheme name of the card; the empty name fits every scheme. No secrets. */
  readonly credentials?: Readonly<Record<string, CredentialKind>>
  /** The configuration of the console has a credential. */
  readonly hasOwnCredential?: true
  /** State of the last test of the credentials. */
  readonly login?: LoginView
  /** Credentials may be sent to other origins that the card names. */
  readonly allowsOrigins?: boolean
}

/** The kind of a credential. */
export type CredentialKind = GivenCredential['kind']

/** A credential that a user typed. */
export type GivenCredential =
  | { readonly kind: 'bearer'; readonly token: string }
  | { readonly kind: 'apiKey'; readonly key: string; readonly name?: string }
  | { readonly kind: 'basic'; readonly user: string; readonly password: string }
  | { readonly kind: 'header'; readonly name: string; readonly value: string }
  | {
      readonly kind: 'oauth2'
      readonly clientId: string
      readonly clientSecret?: string
      readonly issuer?: string
      readonly flow?: 'clientCredentials' | 'deviceCode' | 'authorizationCode'
      /** Separated by spaces. Default: the scopes on the card. */
      readonly scopes?: string
    }

/** The state of a test of an agent's credentials, which may include a login. */
export type LoginView =
  | { readonly state: 'trying' }
  /** The user has to log in at this URL; the browser returns to the console. */
  | { readonly state: 'open'; readonly url: string }
  | { readonly state: 'code'; readonly code: DeviceCode }
  | { readonly state: 'accepted' }
  | { readonly state: 'refused'; readonly error: string }

/** The response to a request without a session. */
export interface SessionRefusal {
  readonly error: string
  /** A transport failure, or an error code of the protocol. */
  readonly code?: string
  /** Required credentials, in the form of a card; absent if a token is required. */
  readonly asks?: Pick<AgentCard, 'securitySchemes' | 'securityRequirements'>
}

/** A card without content. */
export const emptyCard: AgentCard = {
  name: '',
  description: '',
  version: '',
  supportedInterfaces: [],
  capabilities: {},
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
}

/** A card with its validation report, its signature and the possible interfaces. */
export interface CardView {
  readonly card: AgentCard
  /** The card as the agent sent it. */
  readonly raw: unknown
  /** The card that clients without a version header get. */
  readonly unversioned?: unknown
  readonly url?: string
  readonly report: CardReport
  readonly signature: Verification
  readonly warnings: readonly string[]
  /** Usable interfaces, best first. */
  readonly choices: readonly Choice[]
  /** Why no interface is usable. */
  readonly refusal?: string
}

/** Result of a health probe. Each level is probed only if the previous one succeeded. */
export interface ProbeView {
  readonly card: ProbeStep
  readonly bindings: readonly (ProbeStep & {
    readonly dialect: DialectName
    readonly binding: Choice['binding']
    readonly url: string
  })[]
  /** Only if a text was given, because calls may cost money. */
  readonly call?: ProbeStep
}

/** Result of one level of a health probe. */
export interface ProbeStep {
  readonly isGood: boolean
  readonly ms: number
  readonly detail: string
}

/** A call of the page, without its requests and responses. */
export interface CallSummary {
  readonly id: string
  readonly ref: string
  readonly operation: Operation
  readonly dialect: string
  readonly binding: string
  readonly url: string
  readonly startedAt: string
  /** Duration; absent while the call runs. */
  readonly ms?: number
  readonly taskId?: string
  readonly contextId?: string
  /** Message of its error. */
  readonly error?: string
  /** The page left the call before its end. */
  readonly isLeft?: true
  readonly lines: number
  readonly bytes: number
}

/** A request, a response or an event on the wire, with milliseconds since the start of the call. */
export interface WireLine extends WireEntry {
  readonly at: number
}

/** A call with its requests and responses. */
export interface CallView extends CallSummary {
  readonly wire: readonly WireLine[]
  /** Number of lines that were dropped between the first and the newest ones. */
  readonly left: number
}

/** A delivery to the console's own webhook. */
export interface InboxDelivery extends PushDelivery {
  readonly id: string
  readonly receivedAt: string
  readonly headers: Readonly<Record<string, string>>
  /** The unparsed body. */
  readonly body: string
}

/** A dead letter of a server in the same process. */
export type DeadLetterView = DeadDelivery

/** An event of a tab's stream. */
export type TabEvent =
  | { readonly tab: string }
  /** A chunk of the response to a streaming call. */
  | { readonly stream: number; readonly text: string }
  | { readonly stream: number; readonly end: true }
  | { readonly call: CallSummary }
  /** The id of a new delivery at the webhook. */
  | { readonly delivery: string }
  | { readonly registry: unknown }
  | { readonly agents: true }
