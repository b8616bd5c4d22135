/** Answers on a port that are no agent's, and how they say no. Strangers do not learn that nothing is there either. */
import type { Admit } from '../auth/admit.js'
import type { Connection } from '../auth/scheme.js'
import { isRefused, type Refused } from '../model/admission.js'
import { A2AError, type ErrorCode } from '../model/errors.js'
import { anonymous, type Caller } from '../model/service.js'

/** Paths that no agent has. */
export function createNowhere(admit: Admit | undefined) {
  return async (request: Request, connection?: Connection): Promise<Response> => {
    const admission = await admitted(admit, request, connection)
    return admission instanceof Response ? admission : plainRefusal(404, 'NOT_FOUND', 'No agent is mounted here')
  }
}

/** The caller, or what to say to somebody who is none. */
export async function admitted(
  admit: Admit | undefined,
  request: Request,
  connection?: Connection,
): Promise<Caller | Response> {
  try {
    const admission = await admit?.({ ...connection, headers: request.headers, url: request.url })
    if (!admission) return anonymous
    return isRefused(admission) ? refusalOf(admission) : admission
  } catch (caught) {
    const { code, message } = A2AError.from(caught)
    return plainRefusal(code === 'UNAVAILABLE' ? 503 : 500, code, message)
  }
}

const statuses: Readonly<Partial<Record<ErrorCode, number>>> = { UNAUTHENTICATED: 401, RATE_LIMITED: 429 }

function refusalOf({ refused, challenge }: Refused): Response {
  const response = plainRefusal(statuses[refused.code] ?? 403, refused.code, refused.message)
  const { retryAfterSeconds } = refused.details
  if (retryAfterSeconds !== undefined) response.headers.set('retry-after', String(retryAfterSeconds))
  if (challenge !== undefined) response.headers.set('www-authenticate', challenge)
  return response
}

export function plainRefusal(code: number, status: string, message: string): Response {
  return Response.json({ error: { code, status, message, details: [] } }, { status: code })
}
