/** Applies the rate of callers and the limit of failed authentication to admission. */
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
import type { Credentials, Verdict } from '../auth/scheme.js'
import { type AuthResult, isRefused } from '../model/admission.js'
import { overLimit } from '../model/errors.js'
import { anonymous } from '../model/service.js'
import { addressKey, classifyAddress } from '../net/addresses.js'
import type { RateLimit } from './rate-limit.js'

/** Limits failures by address. */
export interface FailureLimit {
  readonly rate: RateLimit
  /** Whether failures from private, loopback and unknown addresses are not counted. */
  readonly isPublicOnly: boolean
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
    const message = `Too many requests (limit rate: ${rate.text}), try again later`
    return { refused: overLimit({ limit: 'rate', max: rate.text }, message, wait), caller: admission }
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
    return given.every(isEmpty) ? undefined : new WatchedVerification(given, credentials, failures, verified)
  }
}

function isEmpty(credential: string | undefined): boolean {
  return credential === ''
}

/** Runs for every request, so it creates no objects while nothing fails. */
class WatchedVerification implements Verification {
  readonly #given: readonly (string | undefined)[]
  readonly #address: string
  readonly #peer: string
  readonly #pause: number
  readonly #failures: FailureLimit
  readonly #verified: VerifiedCredentials
  /** Credentials that are not verified now; undefined if there are none. */
  readonly #isSkipped: readonly boolean[] | undefined

  constructor(
    given: readonly (string | undefined)[],
    { address }: Credentials,
    failures: FailureLimit,
    verified: VerifiedCredentials,
  ) {
    this.#given = given
    this.#address = address?.() ?? ''
    this.#peer = addressKey(this.#address)
    this.#pause = failures.rate.waitFor(this.#peer)
    this.#failures = failures
    this.#verified = verified
    if (this.#pause > 0) this.#isSkipped = given.map((credential) => !isEmpty(credential) && !verified.has(credential))
  }

  canVerify(place: number): boolean {
    return this.#isSkipped?.[place] !== true
  }

  decided(admission: AuthResult, verdicts: readonly Verdict[]): AuthResult {
    const given = this.#given
    for (let place = 0; place < given.length; place++) {
      const caller = callerOf(verdicts[place])
      if (caller) this.#verified.add(given[place], caller.id)
    }
    const isUnknown = isRefused(admission) && admission.refused.code === 'UNAUTHENTICATED'
    let hasFailed = false
    for (let place = 0; place < given.length; place++) {
      if (isEmpty(given[place]) || !this.canVerify(place) || this.#isProof(given[place], verdicts)) continue
      if (verdicts[place] !== 'refused' && !isUnknown) continue
      this.#verified.delete(given[place])
      hasFailed = true
    }
    const { rate } = this.#failures
    if (hasFailed && isCounted(this.#address, this.#failures)) rate.take(this.#peer)
    if (!isRefused(admission) || !this.#isSkipped?.includes(true)) return admission
    const value = `limit failedAuthentication: ${rate.text}`
    const message = `Too many requests with invalid credentials from your address (${value}), try again later`
    return { refused: overLimit({ limit: 'failedAuthentication', max: rate.text }, message, this.#pause) }
  }

  /** Several schemes can read one credential. It is valid if one of them accepts it. */
  #isProof(credential: string | undefined, verdicts: readonly Verdict[]): boolean {
    for (let place = 0; place < verdicts.length; place++)
      if (this.#given[place] === credential && callerOf(verdicts[place])) return true
    return false
  }
}

function isCounted(address: string, { isPublicOnly }: FailureLimit): boolean {
  return !isPublicOnly || classifyAddress(address) === 'public'
}
