/**
 * Admission within limits, for every binding alike: whoever calls too often is refused right after it is known,
 * before a byte of what it says is read.
 */
import type { Admit } from '../auth/admit.js'
import { type Admission, isRefused } from '../model/admission.js'
import { overLimit } from '../model/errors.js'
import { anonymous } from '../model/service.js'
import type { SettledLimits } from './limits.js'

/** Without limits to keep it is the admission it was given. */
export function limitAdmission(
  admit: Admit | undefined,
  { rate, failedAuthentication: failures }: Pick<SettledLimits, 'rate' | 'failedAuthentication'>,
): Admit | undefined {
  if (!rate && !failures) return admit
  return (credentials) => {
    const peer = failures ? (credentials.address?.() ?? '') : ''
    const pause = failures?.waitFor(peer) ?? 0
    if (pause > 0)
      return { refused: overLimit('failedAuthentication', 'Too many requests without valid credentials', pause) }
    const limited = (admission: Admission): Admission => {
      if (isRefused(admission)) {
        if (admission.refused.code === 'UNAUTHENTICATED') failures?.take(peer)
        return admission
      }
      const wait = rate?.take(admission.id) ?? 0
      if (wait === 0) return admission
      return { refused: overLimit('rate', 'Too many requests, try again later', wait), caller: admission }
    }
    const admission = admit ? admit(credentials) : anonymous
    return admission instanceof Promise ? admission.then(limited) : limited(admission)
  }
}
