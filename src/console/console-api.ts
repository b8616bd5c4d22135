/** What the console's page and its server part say to each other beside the protocol itself. */
import type { Choice } from '../client/agent-client.js'
import type { DeviceCode } from '../client/credentials/oauth2-flows.js'
import type { PushDelivery } from '../client/push-receiver.js'
import type { Verification } from '../client/verify-card.js'
import type { WireEntry } from '../client/wire-log.js'
import type { DialectName } from '../dialects/dialect.js'
import type { CardReport } from '../dialects/validate-card/index.js'
import type { AgentCard } from '../model/agent-card.js'
import type { Operation } from '../model/operations.js'
import type { DeadDelivery } from '../push/dead-letters.js'

/** The header every request of the page has. Pages of other origins cannot send it without being asked for leave. */
export const consoleHeader = 'x-dragoman-console'
/** In answers to calls: the name of the call, under which the wire is kept. */
export const callHeader = 'x-dragoman-call'
/** In streaming calls: the tab and the number of the stream whose events are to come through the tab's own stream. */
export const tabHeader = 'x-dragoman-tab'

/** The state that the page loads first: agents, registry and permissions. */
export interface ConsoleSession {
  readonly version: string
  readonly agents: readonly NamedAgent[]
  /** Where the registry is, if there is one. */
  readonly registry?: string
  /** Deliveries that were given up can be looked at. */
  readonly hasDeadLetters: boolean
  /** Where webhooks reach this console. */
  readonly receiver: string
  /** The agent that runs workflows, if the console was told of one. */
  readonly workflow?: { readonly ref: string }
  /** The session was given for a credential, and can be ended. */
  readonly hasLogin: boolean
}

/** An agent the console may call: somebody named it. */
export interface NamedAgent {
  /** An address, or `registry:NAMESPACE/NAME`. */
  readonly ref: string
  readonly from: 'given' | 'pasted' | 'registry'
  /** What is used to call it, by the names of the card's schemes, empty for any; never the secrets themselves. */
  readonly credentials?: Readonly<Record<string, CredentialKind>>
  /** Whoever started the console gave one. */
  readonly hasOwnCredential?: true
  /** How the last try with them went. */
  readonly login?: LoginView
  /** Other origins that the card may name. */
  readonly allowsOrigins?: boolean
}

/** A kind of credential that the console can send. */
export type CredentialKind = GivenCredential['kind']

/** A credential that the user entered in the console. */
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
      /** With spaces in between; default: what the card asks for. */
      readonly scopes?: string
    }

/** A try with the credentials of an agent, which may need a person to log in somewhere. */
export type LoginView =
  | { readonly state: 'trying' }
  /** The person is to go there; the way back leads here. */
  | { readonly state: 'open'; readonly url: string }
  | { readonly state: 'code'; readonly code: DeviceCode }
  | { readonly state: 'accepted' }
  | { readonly state: 'refused'; readonly error: string }

/** The answer to a request without a session. */
export interface SessionRefusal {
  readonly error: string
  /** What kind of problem it is: what failed on the way to an agent, or a code of the protocol. */
  readonly code?: string
  /** What gets one, as a card would say it; absent where only the address that was printed does. */
  readonly asks?: Pick<AgentCard, 'securitySchemes' | 'securityRequirements'>
}

/** A card that says nothing. */
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

/** Everything that can be told of a card. */
export interface CardView {
  readonly card: AgentCard
  /** As it came. */
  readonly raw: unknown
  /** As it comes for those who name no version. */
  readonly unversioned?: unknown
  readonly url?: string
  readonly report: CardReport
  readonly signature: Verification
  readonly warnings: readonly string[]
  /** The ways to speak to it from here, best first; absent when there is none. */
  readonly choices: readonly Choice[]
  readonly refusal?: string
}

/** The result of a probe, one level after the other; a level runs only if the one before succeeded. */
export interface ProbeView {
  readonly card: ProbeStep
  readonly bindings: readonly (ProbeStep & {
    readonly dialect: DialectName
    readonly binding: Choice['binding']
    readonly url: string
  })[]
  /** Only when it was asked for: calls may cost something. */
  readonly call?: ProbeStep
}

/** One step of a probe: what was tried and how it ended. */
export interface ProbeStep {
  readonly isGood: boolean
  readonly ms: number
  readonly detail: string
}

/** A call that was made for the page, without what went over the wire. */
export interface CallSummary {
  readonly id: string
  readonly ref: string
  readonly operation: Operation
  readonly dialect: string
  readonly binding: string
  readonly url: string
  readonly startedAt: string
  /** Until it was over; absent while it is not. */
  readonly ms?: number
  readonly taskId?: string
  readonly contextId?: string
  /** What it failed with. */
  readonly error?: string
  /** Somebody looked away before it was over: no fault of anybody's. */
  readonly isLeft?: true
  readonly lines: number
  readonly bytes: number
}

/** One line on the wire, with its time since the call began. */
export interface WireLine extends WireEntry {
  readonly at: number
}

/** A recorded call with everything that was sent and received. */
export interface CallView extends CallSummary {
  readonly wire: readonly WireLine[]
  /** Lines that were too many to keep, between the first and the last ones. */
  readonly left: number
}

/** A delivery to the console's own webhook. */
export interface InboxDelivery extends PushDelivery {
  readonly id: string
  readonly receivedAt: string
  readonly headers: Readonly<Record<string, string>>
  /** The body as it came. */
  readonly body: string
}

/** A webhook delivery that was given up, as the console shows it. */
export type DeadLetterView = DeadDelivery

/** An element of the stream that a browser tab reads. */
export type TabEvent =
  | { readonly tab: string }
  /** A piece of the answer to a streaming call. */
  | { readonly stream: number; readonly text: string }
  | { readonly stream: number; readonly end: true }
  | { readonly call: CallSummary }
  /** Something came to the webhook; the list tells what. */
  | { readonly delivery: string }
  | { readonly registry: unknown }
  | { readonly agents: true }
