/** The options of `connect` by name; the compiler keeps the list complete. */
import type { NamesOf } from '../model/option-names.js'
import type { BreakerOptions } from './breaker.js'
import type { ConnectOptions } from './connect-options.js'
import type { RetryOptions } from './retry.js'
import type { SignatureOptions } from './verify-card.js'

export const connectOptions = {
  binding: true,
  dialect: true,
  pin: true,
  credentials: true,
  headers: true,
  timeoutMs: true,
  retry: { attempts: true, firstDelayMs: true, longestDelayMs: true } satisfies NamesOf<RetryOptions>,
  breaker: { failures: true, openMs: true } satisfies NamesOf<BreakerOptions>,
  signatures: { policy: true, keys: true, keyOrigins: true, forms: true } satisfies NamesOf<SignatureOptions>,
  allowPrivate: true,
  allowedOrigins: true,
  allowNeighbours: true,
  resolvers: true,
  cache: true,
  fileBytes: true,
  fetch: true,
  onWire: true,
  onWarning: true,
} satisfies NamesOf<ConnectOptions>
