/** Requests that reach no agent: paths that no agent has, and hosts that are not this server's. */
import type { Admit } from '../auth/admit.js'
import { isRefused } from '../model/admission.js'
import { A2AError } from '../model/errors.js'
import { type CallObserver, refusedCall } from '../transports/call-record.js'
import { type HostCheck, hostFault } from './hosts.js'
import { admitted, refusalOf } from './refusal.js'
import type { Fetch, RouterParts } from './router.js'

export function createHostRefusal(isOwnHost: HostCheck, observe: CallObserver | undefined): RouterParts['refuseHost'] {
  return (request, connection) => {
    const fault = hostFault(request, isOwnHost)
    if (fault === undefined) return undefined
    const refused = new A2AError('PERMISSION_DENIED', fault)
    refusedCall(observe, { address: connection?.address }, refused)
    return refusalOf({ refused })
  }
}

/** For paths outside of `basePath`: they are not this server's, so credentials do not matter. */
export function createOutsideBaseRefusal(observe: CallObserver | undefined): Fetch {
  return async (_request, connection) => {
    const refused = new A2AError('METHOD_NOT_FOUND', 'Path not found: it is outside of `basePath`')
    refusedCall(observe, { address: connection?.address }, refused)
    return refusalOf({ refused })
  }
}

/** Callers without credentials do not learn that the path does not exist. */
export function createNotFound(admit: Admit | undefined, observe: CallObserver | undefined): Fetch {
  return async (request, connection) => {
    const admission = await admitted(admit, request, connection)
    const refusal = isRefused(admission)
      ? admission
      : { caller: admission, refused: new A2AError('METHOD_NOT_FOUND', 'No agent is mounted here') }
    refusedCall(observe, { caller: refusal.caller, address: connection?.address }, refusal.refused)
    return refusalOf(refusal)
  }
}
