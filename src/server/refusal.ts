/** Refusals of requests that reach no agent, in the newest dialect over HTTP+JSON. */
import type { Admit } from '../auth/admit.js'
import type { Credentials } from '../auth/scheme.js'
import type { RestForm } from '../dialects/dialect.js'
import { newestDialect } from '../dialects/servers.js'
import type { AuthResult, Refused } from '../model/admission.js'
import { A2AError } from '../model/errors.js'
import { anonymous } from '../model/service.js'
import type { Answer, Exchange } from '../transports/exchange.js'

const form = newestDialect.rest as RestForm // the newest dialect has one

/** Authenticates the caller of a request. */
export async function admitted(admit: Admit | undefined, exchange: Exchange): Promise<AuthResult> {
  try {
    return (await admit?.(credentialsOf(exchange))) ?? anonymous
  } catch (caught) {
    return { refused: A2AError.from(caught) }
  }
}

export function credentialsOf({ connection, headers, url }: Exchange): Credentials {
  return { ...connection, headers, url }
}

export function refusalOf({ refused, challenge }: Pick<Refused, 'refused' | 'challenge'>): Answer {
  const { status, body } = form.encodeError(refused)
  const { retryAfterSeconds } = refused.details
  const headers: Record<string, string> = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds)
  if (challenge !== undefined) headers['www-authenticate'] = challenge
  return { status, headers, body: JSON.stringify(body) }
}
