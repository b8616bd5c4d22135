/** Webhooks of the agents on one store, put together: what is asked of them, who calls them, what was given up. */

import { randomBytes } from 'node:crypto'
import type { Dialect } from '../dialects/dialect.js'
import type { Log } from '../model/log.js'
import { type NamesOf, namesIn } from '../model/option-names.js'
import { type AddressRules, createAddressGuard, ruleNames } from '../net/address-rules.js'
import type { GuardedDialer } from '../net/node-dialer.js'
import { createDialer, type DialerOptions, type TlsOptions, tlsNames } from '../net/node-dialer.js'
import { readAtMost } from '../net/read-at-most.js'
import type { CompleteStore } from '../stores/store.js'
import { applicationTracing } from '../telemetry/tracing.js'
import { createPushOperations, type PushOperations } from './dead-letters.js'
import { createSend, type SendDeps, traceDeliveries } from './delivery.js'
import { defaultSettings, type PushSettings } from './push-settings.js'
import { createThrottledLog } from './throttled-log.js'
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

export interface PushDeps extends Pick<SendDeps, 'signJwt' | 'addressOf'> {
  readonly store: CompleteStore
  readonly agents: readonly string[]
  readonly owner: string
  readonly dialects: ReadonlyMap<string, Dialect>
  readonly log: Log
}

type SendingParts = Omit<PushDeps, 'agents' | 'owner'>

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

export function createPush(parts: PushDeps, options: PushOptions = {}): Push {
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
function createSending(parts: SendingParts & Partial<Pick<PushDeps, 'agents'>>, options: PushOptions) {
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

export interface CheckOptions extends AddressRules {
  /** Ask the address for an echo of a token before it is registered (RL-01-9). */
  readonly challenge?: boolean
}

/** A caller waits meanwhile. */
const timeoutMs = 5_000

/** Answers are a token: whoever says more does not know what he was asked. */
const longestEchoBytes = 1024

export function createWebhookCheck(
  dialer: Pick<GuardedDialer, 'check' | 'fetch'>,
  { challenge = false, ...rules }: CheckOptions,
  log: Log,
): (url: string) => Promise<void> {
  const spelling = createAddressGuard(rules)
  const warn = createThrottledLog(log)
  return async (url) => {
    await spelling.check(url)
    // Not awaited: the time that a look-up takes would tell as much as its result.
    dialer.check(url).catch((error: unknown) => {
      warn(new URL(url).hostname, { level: 'warn', message: 'A registered webhook cannot be called', error })
    })
    if (challenge && !(await askForEcho(dialer, url)))
      throw new Error('did not answer with the validationToken it was sent')
  }
}

async function askForEcho(dialer: Pick<GuardedDialer, 'fetch'>, url: string): Promise<boolean> {
  const token = randomBytes(24).toString('base64url')
  const asked = new URL(url)
  asked.searchParams.set('validationToken', token)
  try {
    const response = await dialer.fetch(asked, { signal: AbortSignal.timeout(timeoutMs) })
    const said = await readAtMost(response, longestEchoBytes)
    return response.ok && said !== undefined && new TextDecoder().decode(said).trim() === token
  } catch {
    return false
  }
}
