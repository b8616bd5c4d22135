/** Paths that no agent has. Strangers do not learn that either. */
import type { Admit } from '../auth/admit.js'
import type { Connection } from '../auth/scheme.js'
import { isRefused } from '../model/admission.js'
import { A2AError, type ErrorCode } from '../model/errors.js'

export function createNowhere(admit: Admit | undefined) {
  return async (request: Request, connection?: Connection): Promise<Response> => {
    try {
      const admission = await admit?.({ ...connection, headers: request.headers, url: request.url })
      if (!admission || !isRefused(admission)) return answer(404, 'NOT_FOUND', 'No agent is mounted here')
      const { refused, challenge } = admission
      const response = answer(statuses[refused.code] ?? 403, refused.code, refused.message)
      const { retryAfterSeconds } = refused.details
      if (retryAfterSeconds !== undefined) response.headers.set('retry-after', String(retryAfterSeconds))
      if (challenge !== undefined) response.headers.set('www-authenticate', challenge)
      return response
    } catch (caught) {
      const { code, message } = A2AError.from(caught)
      return answer(code === 'UNAVAILABLE' ? 503 : 500, code, message)
    }
  }
}

const statuses: Readonly<Partial<Record<ErrorCode, number>>> = { UNAUTHENTICATED: 401, RATE_LIMITED: 429 }

function answer(code: number, status: string, message: string): Response {
  return Response.json({ error: { code, status, message, details: [] } }, { status: code })
}
