/** The options of `connect` and of calls by name; the compiler keeps the lists complete. */
import { bindings } from '../model/agent-card.js'
import { either, type NamesOf } from '../model/option-names.js'
import type { SendMessageConfiguration } from '../model/service.js'
import type { SendOptions } from './agent-client.js'
import type { CircuitBreakerOptions } from './circuit-breaker.js'
import type { ConnectOptions } from './connect-options.js'
import type { RetryOptions } from './retry.js'
import { type SignatureOptions, signaturePolicies } from './verify-card.js'

const signatures = {
  policy: signaturePolicies,
  keys: true,
  keyOrigins: true,
  forms: true,
} satisfies NamesOf<SignatureOptions>

export const connectOptions = {
  binding: bindings,
  dialect: 'string',
  dialects: true,
  pin: 'boolean',
  credentials: true,
  headers: true,
  timeoutMs: true,
  signal: true,
  retry: { attempts: true, firstDelayMs: true, longestDelayMs: true } satisfies NamesOf<RetryOptions>,
  breaker: { failures: true, openMs: true } satisfies NamesOf<CircuitBreakerOptions>,
  signatures: either(signaturePolicies, signatures),
  allowPrivate: 'boolean',
  allowedOrigins: 'strings',
  allowNeighbours: 'boolean',
  resolvers: true,
  cache: true,
  fileBytes: true,
  fetch: true,
  onWire: true,
  onWarning: true,
} satisfies NamesOf<ConnectOptions>

const configuration = {
  acceptedOutputModes: true,
  taskPushNotificationConfig: true,
  historyLength: true,
  returnImmediately: true,
} satisfies NamesOf<SendMessageConfiguration>

export const sayOptions = {
  contextId: true,
  taskId: true,
  referenceTaskIds: true,
  metadata: true,
  configuration,
  idempotencyKey: true,
  signal: true,
  timeoutMs: true,
} satisfies NamesOf<SendOptions>

export const waitOptions = { signal: true, timeoutMs: true } satisfies NamesOf<
  Pick<SendOptions, 'signal' | 'timeoutMs'>
>
export const conversationStart = { contextId: true, taskId: true } as const
