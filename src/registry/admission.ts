/** Authenticates callers of a registry and applies rate limits. */
import { type Auth, requirementsOf, schemesOf } from '../auth/requirement.js'
import type { AuthScheme } from '../auth/scheme.js'
import { isRefused, type Refused } from '../model/admission.js'
import type { Connection } from '../model/connection.js'
import { anonymous, type Caller } from '../model/service.js'
import { addressKey } from '../net/addresses.js'
import { RegistryError } from '../registry-client/registry-error.js'
import { limitAdmission } from '../server/limit-admission.js'
import { failureLimit, type Limits } from '../server/limits.js'
import { type Rate, RateLimit } from '../server/rate-limit.js'
import type { Exchange } from '../transports/exchange.js'
import type { Publisher } from './publications.js'
import type { RateCharge } from './work-queue.js'

interface AdmissionOptions {
  readonly auth?: Auth | 'none'
  readonly publicRead?: boolean
  readonly isAdmin?: (caller: Caller) => boolean
  readonly limits?: RegistryRates
}

/** Rate limits of a registry. */
export interface RegistryRates extends Pick<Limits, 'failedAuthentication'> {
  /**
   * Requests of one caller; of one address (IPv6: one /64 network) without authentication. Callers without a known address
   * share one limit; behind a proxy, all have the proxy's address. Default: 200 a second, bursts of 1,000.
   */
  readonly rate?: Rate | 'none'
}

export interface Admitted {
  readonly publisher: Publisher
  /** The key that limits count by: the caller's id, or its network. */
  readonly callerKey: string
  /** Charges expensive reads to the caller's rate limit. */
  readonly rateCharge: RateCharge
}

interface RegistryRequest {
  readonly exchange: Exchange
  /** The request changes nothing. */
  readonly isRead: boolean
}

const defaultRate: Rate = { perSecond: 200, burst: 1000 }
/** Used for calls without credentials. */
const anonymousPublisher: Publisher = { id: anonymous.id, isAdmin: false, isKnown: false }

export function createAdmission(options: AdmissionOptions): (arrival: RegistryRequest) => Promise<Admitted> {
  const requirements = options.auth === undefined || options.auth === 'none' ? [] : requirementsOf(options.auth)
  const schemes = schemesOf(requirements)
  const { rate: given = defaultRate } = options.limits ?? {}
  const rate = given === 'none' ? undefined : new RateLimit(given)
  const ofAddresses = given === 'none' ? undefined : new RateLimit(given)
  const isOpenToAll = requirements.length === 0
  const admit = isOpenToAll
    ? undefined
    : limitAdmission(requirements, { rate, failedAuthentication: failureLimit(options.limits ?? {}) })
  // A public read without credentials is not a failed authentication.
  const admitReader = isOpenToAll ? undefined : limitAdmission(requirements, { rate, failedAuthentication: undefined })

  const admitAnonymous = (connection: Connection | undefined): Admitted => {
    // Callers without a known address share one bucket.
    const address = addressKey(connection?.address?.() ?? 'unknown')
    const wait = ofAddresses?.take(address) ?? 0
    if (ofAddresses && wait > 0) throw rateExceeded(ofAddresses, wait)
    const rateCharge = rateChargeOf(ofAddresses, address)
    return { publisher: anonymousPublisher, callerKey: `address ${address}`, rateCharge }
  }
  return async ({ exchange, isRead }) => {
    const { connection } = exchange
    const isOpen = options.publicRead === true && isRead
    const ask = isOpen ? admitReader : admit
    if (!ask) return admitAnonymous(connection)
    const headers = withAccessToken(exchange.headers, schemes)
    const admission = await ask({ ...connection, headers, url: exchange.url })
    if (!isRefused(admission)) {
      const publisher = { id: admission.id, isAdmin: options.isAdmin?.(admission) ?? false, isKnown: true }
      return { publisher, callerKey: `caller ${admission.id}`, rateCharge: rateChargeOf(rate, admission.id) }
    }
    if (isOpen && admission.refused.code !== 'RATE_LIMITED') return admitAnonymous(connection)
    throw refusalFor(admission)
  }
}

function rateChargeOf(rate: RateLimit | undefined, name: string): RateCharge {
  return {
    charge: (tokens) => rate?.charge(name, tokens),
    assertWithinRate() {
      if (rate?.isExceeded(name)) throw rateExceeded(rate, rate.waitFor(name))
    },
  }
}

function rateExceeded({ text }: RateLimit, wait: number): RegistryError {
  return rateLimited(`Too many requests (limit rate: ${text}), try again later`, wait)
}

function refusalFor({ refused, challenge }: Refused): RegistryError {
  const { code, message } = refused
  if (code === 'RATE_LIMITED') return rateLimited(message, refused.details.retryAfterSeconds ?? 1)
  return new RegistryError(
    code === 'UNAUTHENTICATED' ? 'UNAUTHENTICATED' : 'FORBIDDEN',
    message,
    challenge === undefined ? {} : { challenge },
  )
}

function rateLimited(message: string, retryAfterSeconds: number): RegistryError {
  return new RegistryError('QUOTA', message, { retryAfterSeconds })
}

/** Nacos clients send credentials in the header `accessToken`, which replaces the headers of all configured schemes. */
function withAccessToken(headers: Pick<Headers, 'get'>, schemes: readonly AuthScheme[]): Pick<Headers, 'get'> {
  const token = headers.get('accesstoken')
  if (token === null) return headers
  const keyNames = schemes.flatMap(({ card }) =>
    'apiKeySecurityScheme' in card ? [card.apiKeySecurityScheme.name.toLowerCase()] : [],
  )
  return {
    get(name) {
      const own = headers.get(name)
      if (own !== null) return own
      if (name.toLowerCase() === 'authorization') return `Bearer ${token}`
      return keyNames.includes(name.toLowerCase()) ? token : null
    },
  }
}
