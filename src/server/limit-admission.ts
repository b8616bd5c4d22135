/** Applies the rate of callers and the limit of failed authentication to admission. */
import {
  type Admit,
  type CredentialReader,
  callerOf,
  createAdmit,
  credentialReader,
  type FailureGuard,
  type Skipped,
  type Verified,
  VerifiedCredentials,
} from '../auth/admit.js'
import { type Requirement, schemesOf } from '../auth/requirement.js'
import type { Credentials } from '../auth/scheme.js'
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
  const guard = failures && new LimitedFailures(requirements, failures)
  const admit = requirements.length > 0 ? createAdmit(requirements, guard) : undefined
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
class LimitedFailures implements FailureGuard {
  readonly #readers: readonly CredentialReader[]
  readonly #failures: FailureLimit
  readonly #verified = new VerifiedCredentials()

  constructor(requirements: readonly Requirement[], failures: FailureLimit) {
    this.#readers = schemesOf(requirements).map(credentialReader)
    this.#failures = failures
  }

  skip(credentials: Credentials, address: string): Skipped | undefined {
    const { rate } = this.#failures
    // While no address has failed, which is usual, a request costs nothing here.
    if (rate.size === 0) return undefined
    const wait = rate.waitFor(addressKey(address))
    if (wait === 0) return undefined
    const places = this.#givenIn(credentials).map((given) => given !== '' && !this.#verified.has(given))
    return { places, wait }
  }

  decided(admission: AuthResult, request: Verified): AuthResult {
    const { credentials, verdicts, skipped } = request
    for (let place = 0; place < verdicts.length; place++) {
      const caller = callerOf(verdicts[place])
      if (caller) this.#verified.add(this.#readers[place]?.(credentials), caller.id)
    }
    if (!isRefused(admission) && !verdicts.includes('refused')) return admission
    this.#countFailure(admission, request)
    if (!isRefused(admission) || !skipped?.places.includes(true)) return admission
    const { rate } = this.#failures
    const value = `limit failedAuthentication: ${rate.text}`
    const message = `Too many requests with invalid credentials from your address (${value}), try again later`
    return { refused: overLimit({ limit: 'failedAuthentication', max: rate.text }, message, skipped.wait) }
  }

  #countFailure(admission: AuthResult, { credentials, address, verdicts, skipped }: Verified): void {
    const given = this.#givenIn(credentials)
    // Several schemes can read one credential. It is valid if one of them accepts it.
    const valid = new Set(given.filter((_, place) => callerOf(verdicts[place])))
    const isUnknown = isRefused(admission) && admission.refused.code === 'UNAUTHENTICATED'
    let hasFailed = false
    for (const [place, credential] of given.entries()) {
      // A request without a credential is not a guess.
      if (credential === '' || skipped?.places[place] || valid.has(credential)) continue
      if (verdicts[place] !== 'refused' && !isUnknown) continue
      this.#verified.delete(credential)
      hasFailed = true
    }
    if (hasFailed && isCounted(address, this.#failures)) this.#failures.rate.take(addressKey(address))
  }

  #givenIn(credentials: Credentials): readonly (string | undefined)[] {
    return this.#readers.map((read) => read(credentials))
  }
}

function isCounted(address: string, { isPublicOnly }: FailureLimit): boolean {
  return !isPublicOnly || classifyAddress(address) === 'public'
}
