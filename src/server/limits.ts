/** All limits of a server, in one option. Omitted limits have their defaults. */
import { defaultEngineLimits, type EngineLimits } from '../engine/limits.js'
import { defaultRequestLimits, type RequestLimits } from '../transports/read-json.js'
import type { FailureLimit } from './limit-admission.js'
import { type Rate, RateLimit } from './rate-limit.js'

/** Limits of what callers may send and store. */
export interface Limits extends Partial<EngineLimits>, Partial<RequestLimits> {
  /**
   * Requests of one caller. Default: 1,000 a second, 5,000 at once for authenticated callers; no limit for `anonymous`,
   * which all unauthenticated callers share. An explicit rate applies to both.
   */
  readonly rate?: Rate | 'none'
  /**
   * Requests with invalid credentials from one address (IPv6: one /64 network). Beyond it the server rejects unknown
   * credentials from that address without verifying them; credentials that were valid before still pass. Default: 10
   * a second, 100 at once, for public addresses only, because callers behind one proxy share its address. An explicit
   * rate applies to every address; requests whose address is unknown then count as one.
   */
  readonly failedAuthentication?: Rate | 'none'
}

/** The limits, grouped by the component that enforces them. */
export interface SettledLimits {
  readonly engine: EngineLimits
  readonly request: RequestLimits
  readonly rate: RateLimit | undefined
  readonly failedAuthentication: FailureLimit | undefined
}

const defaultRate: Rate = { perSecond: 1000, burst: 5000 }
const defaultFailures: Rate = { perSecond: 10, burst: 100 }

export function settleLimits(limits: Limits = {}, hasAuth: boolean): SettledLimits {
  const { rate = hasAuth ? defaultRate : 'none' } = limits
  return {
    engine: pick(limits, defaultEngineLimits),
    request: pick(limits, defaultRequestLimits),
    rate: rate === 'none' ? undefined : new RateLimit(rate),
    failedAuthentication: hasAuth ? failureLimit(limits) : undefined,
  }
}

export function failureLimit({ failedAuthentication: given }: Limits): FailureLimit | undefined {
  if (given === 'none') return undefined
  return { rate: new RateLimit(given ?? defaultFailures), isPublicOnly: given === undefined }
}

/** Throws for a limit that is not a number: it would never be reached. */
function pick<Numbers extends object>(limits: Limits, defaults: Numbers): Numbers {
  const chosen = { ...defaults }
  for (const name of Object.keys(defaults)) {
    const value = limits[name as keyof Limits]
    if (value === undefined) continue
    if (typeof value !== 'number' || !(value >= 1)) throw new TypeError(`limits.${name} must be a number from 1 on`)
    Object.assign(chosen, { [name]: value })
  }
  return chosen
}
