/** Assembles webhook delivery for the agents of one store: checks at registration, the worker, and dead letters. */
import { randomBytes } from 'node:crypto'
import type { Dialect } from '../dialects/dialect.js'
import type { Log } from '../model/log.js'
import { type NamesOf, namesIn } from '../model/option-names.js'
import { type AddressRules, createAddressGuard, ruleNames } from '../net/address-rules.js'
import {
  createGuardedDialer,
  type DialerOptions,
  type GuardedDialer,
  type TlsOptions,
  tlsNames,
} from '../net/node-dialer.js'
import { readAtMost } from '../net/read-at-most.js'
import type { CompleteStore } from '../stores/store.js'
import { applicationTracing } from '../telemetry/tracing.js'
import { createPushOperations, type PushOperations } from './dead-letters.js'
import { createSend, type SendDeps, traceDeliveries } from './delivery.js'
import { defaultPushSettings, type PushSettings } from './push-settings.js'
import { createThrottledLog } from './throttled-log.js'
import { PushWorker } from './worker.js'

/** Options of webhooks: which addresses the server may call, and how it calls them. */
export interface PushOptions
  extends Partial<PushSettings>,
    Omit<AddressRules, 'allowNeighbours'>,
    Pick<DialerOptions, 'lookup'> {
  /**
   * Register only URLs that answer `GET url?validationToken=T` with `T` (RL-01-9). Default false, because clients of later
   * protocol versions do not expect the request.
   */
  readonly challenge?: boolean
  /** The client certificate of deliveries, and the certificates that the server trusts. */
  readonly tls?: TlsOptions
}

export const pushNames = {
  ...namesIn(defaultPushSettings),
  events: ['all', 'statuses'],
  ...ruleNames,
  lookup: 'function',
  challenge: 'boolean',
  tls: tlsNames,
} satisfies NamesOf<PushOptions>

export interface PushDeps extends Pick<SendDeps, 'signJwt' | 'addressOf'> {
  readonly store: CompleteStore
  readonly agents: readonly string[]
  /** Identifies this process in leases. */
  readonly owner: string
  readonly dialects: ReadonlyMap<string, Dialect>
  readonly log: Log
}

type SendingDeps = Omit<PushDeps, 'agents' | 'owner'>

export interface Push {
  /** Rejects with a message for the caller when the server must not call a URL. */
  readonly checkWebhook: (url: string) => Promise<void>
  readonly operations: PushOperations
  /** Starts deliveries. */
  start(): void
  /** Delivers until the deadline, then stops. */
  close(deadlineMs: number): Promise<void>
}

export function createPush(deps: PushDeps, options: PushOptions = {}): Push {
  const { settings, dialer, send, operations, close } = createSending(deps, options)
  const worker = new PushWorker({ ...deps, settings, send })
  return {
    checkWebhook: createWebhookCheck(dialer, options, deps.log),
    operations,
    start: () => worker.start(),
    async close(deadlineMs) {
      await worker.close(deadlineMs)
      await close()
    },
  }
}

/** Operations on a store whose agents run elsewhere or not at all. Delivers only what `redeliver` requests. */
export function createStorePush(
  deps: SendingDeps,
  options: PushOptions = {},
): Pick<Push, 'operations'> & { close(): Promise<void> } {
  const { operations, close } = createSending(deps, options)
  return { operations, close }
}

function createSending(deps: SendingDeps & Partial<Pick<PushDeps, 'agents'>>, options: PushOptions) {
  const settings = settingsOf(options)
  const { httpsOnly = true, allowHosts = [], allowPrivate = false, allowPorts, lookup, tls } = options
  const dialer = createGuardedDialer({
    httpsOnly,
    allowHosts,
    allowPrivate,
    ...(allowPorts && { allowPorts }),
    ...(lookup && { lookup }),
    ...(tls && { tls }),
  })
  const closing = new AbortController()
  // A signer that fails would otherwise fill the log with one entry for each attempt.
  const logUnsigned = createThrottledLog(deps.log)
  const plain = createSend({
    ...deps,
    dialer,
    timeoutMs: settings.timeoutMs,
    onUnsigned: (error, { key, push }) => {
      const entry = {
        level: 'error',
        message: 'A delivery cannot be signed',
        agent: key.agent,
        taskId: key.id,
      } as const
      logUnsigned(JSON.stringify([key.agent, key.id, push.config.id]), { ...entry, error })
    },
  })
  const tracing = applicationTracing()
  const send = tracing ? traceDeliveries(plain, tracing) : plain
  return {
    settings,
    dialer,
    send,
    operations: createPushOperations({ ...deps, events: settings.events, send, closing: closing.signal }),
    async close() {
      closing.abort()
      await dialer.close()
    },
  }
}

function settingsOf(options: PushOptions): PushSettings {
  const settings = { ...defaultPushSettings }
  for (const name of Object.keys(defaultPushSettings) as (keyof PushSettings)[])
    if (options[name] !== undefined) Object.assign(settings, { [name]: options[name] })
  for (const name of ['timeoutMs', 'concurrency', 'perOrigin', 'pollMs'] as const)
    if (settings[name] === 0) throw new TypeError(`push.${name} must be more than 0`)
  return settings
}

/** The caller waits for the challenge. */
const challengeTimeoutMs = 5_000
const maxEchoBytes = 1024

/**
 * Checks a webhook when it is registered. The result depends only on the text of the URL: if it depended on a DNS lookup, it
 * would tell callers which names exist in the server's network. The result of the lookup is logged, and each delivery makes
 * its own.
 */
function createWebhookCheck(
  dialer: Pick<GuardedDialer, 'check' | 'fetch'>,
  { challenge = false, ...rules }: AddressRules & Pick<PushOptions, 'challenge'>,
  log: Log,
): (url: string) => Promise<void> {
  const guard = createAddressGuard(rules)
  const warn = createThrottledLog(log)
  return async (url) => {
    await guard.check(url)
    // Not awaited: the duration of a lookup would tell as much as its result.
    dialer.check(url).catch((error: unknown) => {
      warn(new URL(url).hostname, { level: 'warn', message: 'A registered webhook cannot be called', error })
    })
    if (challenge && !(await passesChallenge(dialer, url)))
      throw new Error('did not answer with the validationToken it was sent')
  }
}

async function passesChallenge(dialer: Pick<GuardedDialer, 'fetch'>, url: string): Promise<boolean> {
  const token = randomBytes(24).toString('base64url')
  const challenge = new URL(url)
  challenge.searchParams.set('validationToken', token)
  try {
    const response = await dialer.fetch(challenge, { signal: AbortSignal.timeout(challengeTimeoutMs) })
    const body = await readAtMost(response, maxEchoBytes)
    return response.ok && body !== undefined && new TextDecoder().decode(body).trim() === token
  } catch {
    return false
  }
}
