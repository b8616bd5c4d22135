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
  const start = failures && limitFailures(requirements, failures)
  const admit = requirements.length > 0 ? createAdmit(requirements, start) : undefined
  if (!rate) return admit
  const limited = (admission: AuthResult): AuthResult => {
    if (isRefused(admission)) return admission
    const wait = rate.take(admission.id)
    if (wait === 0) return admission
    const message = `Too many requests (limit rate: ${rate.text}), try again later`
    return { refused: overLimit('rate', message, wait), caller: admission }
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
      const value = `limit failedAuthentication: ${failures.rate.text}`
      const message = `Too many requests with invalid credentials from your address (${value}), try again later`
      return { refused: overLimit('failedAuthentication', message, pause) }
    },
  }
}

function isCounted(address: string, { isPublicOnly }: FailureLimit): boolean {
  return !isPublicOnly || classifyAddress(address) === 'public'
}
