/** Webhooks of the agents on one store, put together: what is asked of them, who calls them, what was given up. */
import type { Dialect } from '../dialects/dialect.js'
import type { Log } from '../model/log.js'
import { type NamesOf, namesIn } from '../model/option-names.js'
import { type AddressRules, ruleNames } from '../net/address-rules.js'
import { createDialer, type DialerOptions, type TlsOptions, tlsNames } from '../net/node-dialer.js'
import type { CompleteStore } from '../stores/store.js'
import { applicationTracing } from '../telemetry/tracing.js'
import { createWebhookCheck } from './check-webhook.js'
import { createPushOperations, type PushOperations } from './dead-deliveries.js'
import { createSend, type SenderParts } from './delivery.js'
import { defaultSettings, type PushSettings } from './push-settings.js'
import { traceDeliveries } from './trace-deliveries.js'
import { PushWorker } from './worker.js'

/** Where webhooks may be, and how they are called. */
export interface PushOptions
  extends Partial<PushSettings>,
    Omit<AddressRules, 'allowNeighbours'>,
    Pick<DialerOptions, 'lookup'> {
  /**
   * Register only addresses that answer `GET url?validationToken=T` with `T` (RL-01-9). Default false: clients
   * of later versions do not expect to be asked.
   */
  readonly challenge?: boolean
  /** A client certificate to show, or whose certificates to trust. */
  readonly tls?: TlsOptions
}

export const pushNames = {
  ...namesIn(defaultSettings),
  events: ['all', 'statuses'],
  ...ruleNames,
  lookup: 'function',
  challenge: 'boolean',
  tls: tlsNames,
} satisfies NamesOf<PushOptions>

export interface PushParts extends Pick<SenderParts, 'signJwt' | 'addressOf'> {
  readonly store: CompleteStore
  readonly agents: readonly string[]
  readonly owner: string
  readonly dialects: ReadonlyMap<string, Dialect>
  readonly log: Log
}

type SendingParts = Omit<PushParts, 'agents' | 'owner'>

interface Closing {
  close(): Promise<void>
}

export interface Push {
  /** Rejects for addresses that must not be called, in words for whoever gave them. */
  readonly checkWebhook: (url: string) => Promise<void>
  readonly operations: PushOperations
  /** Begins to deliver. */
  start(): void
  /** Delivers what is due until the deadline, then stops. */
  close(deadlineMs: number): Promise<void>
}

export function createPush(parts: PushParts, options: PushOptions = {}): Push {
  const { settings, dialer, send, operations, close } = createSending(parts, options)
  const worker = new PushWorker({ ...parts, settings, send })
  return {
    checkWebhook: createWebhookCheck(dialer, options, parts.log),
    operations,
    start: () => worker.start(),
    async close(deadlineMs) {
      await worker.close(deadlineMs)
      await close()
    },
  }
}

/** For whoever looks after a store whose agents run elsewhere, or not now: nothing is delivered unless it is asked for. */
export function createStorePush(parts: SendingParts, options: PushOptions = {}): Pick<Push, 'operations'> & Closing {
  const { operations, close } = createSending(parts, options)
  return { operations, close }
}

/** What sends, and what was given up: all of it but the worker. */
function createSending(parts: SendingParts & Partial<Pick<PushParts, 'agents'>>, options: PushOptions) {
  const settings = settingsOf(options)
  const dialer = createDialer(options)
  const closing = new AbortController()
  const plain = createSend({
    ...parts,
    dialer,
    timeoutMs: settings.timeoutMs,
    onUnsigned: (error, { key }) =>
      parts.log({ level: 'error', message: 'A delivery cannot be signed', agent: key.agent, taskId: key.id, error }),
  })
  const tracing = applicationTracing()
  const send = tracing ? traceDeliveries(plain, tracing) : plain
  return {
    settings,
    dialer,
    send,
    operations: createPushOperations({ ...parts, events: settings.events, send, closing: closing.signal }),
    async close() {
      closing.abort()
      await dialer.close()
    },
  }
}

function settingsOf(options: PushOptions): PushSettings {
  const settings = { ...defaultSettings }
  for (const name of Object.keys(defaultSettings) as (keyof PushSettings)[]) {
    const given = options[name]
    if (given === undefined) continue
    if (typeof given === 'number' && !(given >= 0)) throw new TypeError(`push.${name} is a number, 0 or more`)
    Object.assign(settings, { [name]: given })
  }
  for (const name of ['timeoutMs', 'concurrency', 'perOrigin', 'pollMs'] as const)
    if (settings[name] === 0) throw new TypeError(`push.${name} must be more than 0`)
  return settings
}
