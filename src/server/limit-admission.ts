/**
 * Admission within limits, for every binding alike: whoever calls too often is refused right after it is known,
 * before a byte of what it says is read.
 */
import type { Admit } from '../auth/admit.js'
import { type CredentialReader, VerifiedCredentials } from '../auth/verified-credentials.js'
import { type Admission, isRefused } from '../model/admission.js'
import { overLimit } from '../model/errors.js'
import { anonymous } from '../model/service.js'
import { addressKey, classifyAddress } from '../net/addresses.js'
import type { FailureLimit, SettledLimits } from './limits.js'

export interface AdmissionLimits extends Pick<SettledLimits, 'rate' | 'failedAuthentication'> {
  /** Reads the credential of a request; needed with `failedAuthentication`. */
  readonly credentialOf?: CredentialReader | undefined
}

/** Without limits to keep it is the admission it was given. */
export function limitAdmission(
  admit: Admit | undefined,
  { rate, failedAuthentication: failures, credentialOf }: AdmissionLimits,
): Admit | undefined {
  if (!rate && !failures) return admit
  const verified = new VerifiedCredentials()
  return (credentials) => {
    // A request without a credential guesses nothing: it is neither counted nor refused here.
    const credential = failures ? credentialOf?.(credentials) : ''
    const address = failures && credential !== '' ? (credentials.address?.() ?? '') : ''
    const peer = addressKey(address)
    const pause = credential === '' ? 0 : (failures?.rate.waitFor(peer) ?? 0)
    // An attacker behind the same proxy must not lock out callers that were let in before.
    if (pause > 0 && !verified.has(credential))
      return { refused: overLimit('failedAuthentication', 'Too many requests with invalid credentials', pause) }
    const limited = (admission: Admission): Admission => {
      if (isRefused(admission)) {
        if (admission.refused.code === 'UNAUTHENTICATED' && credential !== '') {
          if (failures && isCounted(address, failures)) failures.rate.take(peer)
          verified.delete(credential)
        }
        return admission
      }
      if (failures) verified.add(credential)
      const wait = rate?.take(admission.id) ?? 0
      if (wait === 0) return admission
      return { refused: overLimit('rate', 'Too many requests, try again later', wait), caller: admission }
    }
    const admission = admit ? admit(credentials) : anonymous
    return admission instanceof Promise ? admission.then(limited) : limited(admission)
  }
}

function isCounted(address: string, { isPublicOnly }: FailureLimit): boolean {
  return !isPublicOnly || classifyAddress(address) === 'public'
}
