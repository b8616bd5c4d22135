/** Paths that no agent has. Strangers do not learn that either. */
import type { Admit } from '../auth/admit.js'
import { isRefused } from '../model/admission.js'
import { A2AError } from '../model/errors.js'
import { type CallObserver, refusedCall } from '../transports/call-record.js'
import { admitted, refusalOf } from './refusal.js'
import type { Fetch } from './router.js'

export function createNowhere(admit: Admit | undefined, observe: CallObserver | undefined): Fetch {
  return async (request, connection) => {
    const admission = await admitted(admit, request, connection)
    const refusal = isRefused(admission)
      ? admission
      : { caller: admission, refused: new A2AError('METHOD_NOT_FOUND', 'No agent is mounted here') }
    refusedCall(observe, { caller: refusal.caller, address: connection?.address }, refusal.refused)
    return refusalOf(refusal)
  }
}
