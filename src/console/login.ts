/**
 * Who may have a session where that is asked: whoever meets `auth`. What is asked for is described as an agent's card
 * describes it, and what was typed is put where a client of such an agent would put it; so every scheme of the library
 * works here, and the page has one form for both.
 */
import { createAdmit } from '../auth/admit.js'
import { type Auth, cardSecurity, requirementsOf } from '../auth/requirement.js'
import type { Connection, Credentials } from '../auth/scheme.js'
import { createAuthorizer } from '../client/credentials/authorizer.js'
import { isRefused } from '../model/admission.js'
import { A2AError } from '../model/errors.js'
import { limitAdmission } from '../server/limit-admission.js'
import type { RateLimit } from '../server/rate-limit.js'
import { emptyCard } from './console-api.js'
import { readCredentials, sourceFor } from './given-credential.js'

/** Passwords can be guessed. */
export const guesses = { perSecond: 0.2, burst: 10 }

export interface Login {
  /** As in a card. */
  readonly asks: ReturnType<typeof cardSecurity>
  /** Throws in plain words when nobody can be let in. */
  admit(request: Request, typed: unknown, connection: Connection): Promise<void>
}

export function createLogin(auth: Auth, failures: RateLimit): Login {
  // Who opens the console calls agents from here, with what was given for them.
  if (!Array.isArray(auth) || auth.length === 0)
    throw new TypeError('A console is never for everybody: give `auth` a scheme, or leave it out for a token')
  const requirements = requirementsOf(auth)
  const asks = cardSecurity(requirements)
  const admit = createAdmit(requirements)
  const limited = limitAdmission(requirements, {
    rate: undefined,
    failedAuthentication: { rate: failures, isPublicOnly: false },
  })
  return {
    asks,
    async admit(request, typed, connection) {
      const credentials = { ...connection, ...(await asSent(request, typed, asks)) }
      // A page that was just opened has tried nothing.
      const admission = await ((typed !== undefined && limited) || admit)(credentials)
      if (isRefused(admission)) throw admission.refused
    },
  }
}

/**
 * What somebody typed, as the request of a client that has it. Whatever else the browser sends proves nothing: what is
 * guessed here is counted.
 */
async function asSent({ url }: Request, typed: unknown, asks: Login['asks']): Promise<Credentials> {
  const sources = Object.fromEntries(
    Object.entries(readCredentials(typed)).flatMap(([scheme, given]) => {
      const source = sourceFor(given)
      return source ? [[scheme, source]] : []
    }),
  )
  const { origin } = new URL(url)
  const { additionsFor } = createAuthorizer({ ...emptyCard, ...asks }, sources, { origins: [origin] })
  const { headers, query } = await additionsFor(url).catch((cause: unknown) => {
    throw new A2AError('UNAUTHENTICATED', 'That is not what is asked for here', { cause })
  })
  return { headers: new Headers(headers), url: `${origin}/?${new URLSearchParams(query)}` }
}
