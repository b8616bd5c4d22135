/** Rate limits as token buckets, and limits on failed authentication. */
import {
  type Admit,
  callerOf,
  createAdmit,
  credentialReader,
  type StartVerification,
  type Verification,
  VerifiedCredentials,
} from '../auth/admit.js'
import { type Requirement, schemesOf } from '../auth/requirement.js'
import type { Credentials } from '../auth/scheme.js'
import { type AuthResult, isRefused } from '../model/admission.js'
import { overLimit } from '../model/errors.js'
import { anonymous } from '../model/service.js'
import { addressKey, classifyAddress } from '../net/addresses.js'

/** Limits failures by address. */
export interface FailureLimit {
  readonly rate: RateLimit
  /** Whether failures from private, loopback and unknown addresses are not counted. */
  readonly isPublicOnly: boolean
}

/** A rate limit: a steady rate and a burst above it. */
export interface Rate {
  /** Tokens added per second. */
  readonly perSecond: number
  /** Maximum number of tokens, which can be used at once. Default: those of five seconds, at least one. */
  readonly burst?: number
}

/** Beyond this number the least recently used bucket is removed: it is probably full again. */
const maxBuckets = 10_000

interface Bucket {
  tokens: number
  /** Time of the last update. */
  atMs: number
}

export class RateLimit {
  readonly #perMs: number
  readonly #burst: number
  readonly #now: () => number
  /** Above half of the maximum, in order of use. */
  readonly #buckets = new Map<string, Bucket>()

  constructor({ perSecond, burst = Math.max(1, perSecond * 5) }: Rate, now: () => number = () => performance.now()) {
    if (!(perSecond > 0) || !(burst >= 1)) throw new TypeError('A rate needs `perSecond` above 0 and `burst` from 1 on')
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#now = now
  }

  /** Seconds until a token is available; 0 if there is one. */
  waitFor(name: string): number {
    const bucket = this.#buckets.get(name)
    return bucket ? this.#waitWith(this.#tokensOf(bucket, this.#now())) : 0
  }

  /** Takes a token if one is available. Returns the result of `waitFor` before that. */
  take(name: string): number {
    const now = this.#now()
    const bucket = this.#buckets.get(name)
    if (!bucket) {
      this.#add(name, { tokens: this.#burst - 1, atMs: now })
      return 0
    }
    const tokens = this.#tokensOf(bucket, now)
    if (tokens < 1) return this.#waitWith(tokens)
    bucket.tokens = tokens - 1
    bucket.atMs = now
    // The order of use matters only when buckets may be removed soon.
    if (this.#buckets.size > maxBuckets / 2) {
      this.#buckets.delete(name)
      this.#buckets.set(name, bucket)
    }
    return 0
  }

  /** Takes tokens for a request that turned out to be expensive. The bucket may fall to minus its burst. */
  charge(name: string, tokens: number): void {
    const now = this.#now()
    const bucket = this.#buckets.get(name)
    const left = (bucket ? this.#tokensOf(bucket, now) : this.#burst) - tokens
    const next = { tokens: Math.max(left, -this.#burst), atMs: now }
    if (bucket) Object.assign(bucket, next)
    else this.#add(name, next)
  }

  /** Whether charges have taken more tokens than there were. */
  isExceeded(name: string): boolean {
    const bucket = this.#buckets.get(name)
    return bucket !== undefined && this.#tokensOf(bucket, this.#now()) < 0
  }

  get size(): number {
    return this.#buckets.size
  }

  #add(name: string, bucket: Bucket): void {
    this.#buckets.set(name, bucket)
    if (this.#buckets.size <= maxBuckets) return
    const [oldest] = this.#buckets.keys()
    if (oldest !== undefined) this.#buckets.delete(oldest)
  }

  #waitWith(tokens: number): number {
    return tokens >= 1 ? 0 : Math.ceil((1 - tokens) / this.#perMs / 1000)
  }

  #tokensOf({ tokens, atMs }: Bucket, now: number): number {
    return Math.min(this.#burst, tokens + (now - atMs) * this.#perMs)
  }
}

interface AdmissionLimits {
  readonly rate: RateLimit | undefined
  readonly failedAuthentication: FailureLimit | undefined
}

/** Admits callers that meet a requirement, or all callers if there is none. Absent without requirements and rate. */
export function limitAdmission(
  requirements: readonly Requirement[],
  { rate, failedAuthentication: failures }: AdmissionLimits,
): Admit | undefined {
  const start = failures && limitFailures(requirements, failures)
  const admit = requirements.length > 0 ? createAdmit(requirements, start) : undefined
  if (!rate) return admit
  const limited = (admission: AuthResult): AuthResult => {
    if (isRefused(admission)) return admission
    const wait = rate.take(admission.id)
    if (wait === 0) return admission
    return { refused: overLimit('rate', 'Too many requests, try again later', wait), caller: admission }
  }
  if (!admit) return () => limited(anonymous)
  return (credentials) => {
    const admission = admit(credentials)
    return admission instanceof Promise ? admission.then(limited) : limited(admission)
  }
}

/**
 * Limits failures by address, and credential by credential. A request with a valid and an invalid credential is
 * admitted and counts as a failure, because the invalid one may be a guess. Beyond the limit, only credentials that
 * were valid before are verified: an attacker behind the same proxy must not lock out known callers, and a caller with
 * a valid key must not guess tokens of others.
 */
function limitFailures(requirements: readonly Requirement[], failures: FailureLimit): StartVerification {
  const readers = schemesOf(requirements).map(credentialReader)
  const verified = new VerifiedCredentials()
  return (credentials) => {
    const given = readers.map((read) => read(credentials))
    // A request without a credential is not a guess: it is neither counted nor rejected here.
    return given.every((each) => each === '') ? undefined : watch(given, credentials, { failures, verified })
  }
}

interface Failures {
  readonly failures: FailureLimit
  readonly verified: VerifiedCredentials
}

function watch(
  given: readonly (string | undefined)[],
  { address: addressOf }: Credentials,
  { failures, verified }: Failures,
): Verification {
  const address = addressOf?.() ?? ''
  const peer = addressKey(address)
  const pause = failures.rate.waitFor(peer)
  const isSkipped = pause === 0 ? [] : given.map((credential) => credential !== '' && !verified.has(credential))
  return {
    canVerify: (place) => isSkipped[place] !== true,
    decided(admission, verdicts) {
      const proofs = new Set<string | undefined>()
      for (const [place, verdict] of verdicts.entries()) {
        const caller = callerOf(verdict)
        if (!caller) continue
        verified.add(given[place], caller.id)
        proofs.add(given[place])
      }
      const isUnknown = isRefused(admission) && admission.refused.code === 'UNAUTHENTICATED'
      let hasFailed = false
      for (const [place, credential] of given.entries()) {
        // Several schemes can read one credential. It is valid if one of them accepts it.
        if (credential === '' || isSkipped[place] || proofs.has(credential)) continue
        if (verdicts[place] !== 'refused' && !isUnknown) continue
        verified.delete(credential)
        hasFailed = true
      }
      if (hasFailed && isCounted(address, failures)) failures.rate.take(peer)
      if (!isRefused(admission) || !isSkipped.includes(true)) return admission
      return { refused: overLimit('failedAuthentication', 'Too many requests with invalid credentials', pause) }
    },
  }
}

function isCounted(address: string, { isPublicOnly }: FailureLimit): boolean {
  return !isPublicOnly || classifyAddress(address) === 'public'
}
