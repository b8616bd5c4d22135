/** Refusals of requests that reach no agent, in the newest dialect over HTTP+JSON. */
import type { Admit } from '../auth/admit.js'
import type { Connection } from '../auth/scheme.js'
import type { RestForm } from '../dialects/dialect.js'
import { newestDialect } from '../dialects/servers.js'
import type { AuthResult, Refused } from '../model/admission.js'
import { A2AError } from '../model/errors.js'
import { anonymous } from '../model/service.js'

const form = newestDialect.rest as RestForm // the newest dialect has one

/** Authenticates the caller of a request. */
export async function admitted(
  admit: Admit | undefined,
  request: Request,
  connection?: Connection,
): Promise<AuthResult> {
  try {
    return (await admit?.({ ...connection, headers: request.headers, url: request.url })) ?? anonymous
  } catch (caught) {
    return { refused: A2AError.from(caught) }
  }
}

export function refusalOf({ refused, challenge }: Pick<Refused, 'refused' | 'challenge'>): Response {
  const { status, body } = form.encodeError(refused)
  const { retryAfterSeconds } = refused.details
  const response = Response.json(body, { status, headers: { 'cache-control': 'no-store' } })
  if (retryAfterSeconds !== undefined) response.headers.set('retry-after', String(retryAfterSeconds))
  if (challenge !== undefined) response.headers.set('www-authenticate', challenge)
  return response
}
