/** Refusals of requests that reach no agent, in the newest dialect over HTTP+JSON. */
import type { Admit } from '../auth/admit.js'
import type { Credentials } from '../auth/scheme.js'
import type { RestForm } from '../dialects/dialect.js'
import { newestDialect } from '../dialects/servers.js'
import type { AuthResult, Refused } from '../model/admission.js'
import type { Connection } from '../model/connection.js'
import { A2AError } from '../model/errors.js'
import { anonymous } from '../model/service.js'
import type { Exchange, HttpAnswer } from '../transports/exchange.js'
import type { HeaderReader } from '../transports/transport.js'

const form = newestDialect.rest as RestForm // the newest dialect has one

/** Authenticates the caller of a request. */
export async function admitted(admit: Admit | undefined, exchange: Exchange): Promise<AuthResult> {
  try {
    return (await admit?.(new ExchangeCredentials(exchange))) ?? anonymous
  } catch (caught) {
    return { refused: A2AError.from(caught) }
  }
}

/** The facts of a request that schemes read. A class: copying the connection took 11 % of a call without the engine. */
export class ExchangeCredentials implements Credentials {
  readonly headers: HeaderReader
  readonly address?: Connection['address']
  readonly certificate?: Connection['certificate']
  readonly onCaller?: Connection['onCaller']
  readonly #exchange: Exchange

  constructor(exchange: Exchange) {
    const { connection } = exchange
    this.#exchange = exchange
    this.headers = exchange.headers
    this.address = connection?.address
    this.certificate = connection?.certificate
    this.onCaller = connection?.onCaller
  }

  get url(): string {
    return this.#exchange.url
  }
}

export function refusalOf({ refused, challenge }: Pick<Refused, 'refused' | 'challenge'>): HttpAnswer {
  const { status, body } = form.encodeError(refused)
  const headers = { 'content-type': 'application/json', ...refusalHeaders({ refused, challenge }) }
  return { status, headers, body: JSON.stringify(body) }
}

/** Headers of refusals in every format. */
export function refusalHeaders({
  refused,
  challenge,
}: {
  readonly refused: A2AError
  readonly challenge?: string | undefined
}): Record<string, string> {
  const { retryAfterSeconds } = refused.details
  const headers: Record<string, string> = { 'cache-control': 'no-store' }
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds)
  if (challenge !== undefined) headers['www-authenticate'] = challenge
  return headers
}

/** Refuses to send an answer that exists. Keeps the headers that let a web page read the refusal. */
export function refusalInstead({ headers }: HttpAnswer, refused: A2AError): HttpAnswer {
  const refusal = refusalOf({ refused })
  const kept = Object.entries(headers).filter(([name]) => name === 'vary' || name.startsWith('access-control-'))
  return { ...refusal, headers: { ...Object.fromEntries(kept), ...refusal.headers } }
}
