/** Who a request is from, or why it is refused: the one question that HTTP and gRPC ask alike. */
import type { Admission } from '../model/admission.js'
import { A2AError } from '../model/errors.js'
import type { Caller } from '../model/service.js'
import { missingScopes, type Requirement, schemesOf } from './requirement.js'
import type { AuthScheme, Credentials, Shortfall, Verdict } from './scheme.js'

/** Answers without a promise where nobody has to be asked. */
export type Admit = (credentials: Credentials) => Admission | Promise<Admission>

export function createAdmit(requirements: readonly Requirement[]): Admit {
  const schemes = schemesOf(requirements)
  return (credentials) => {
    const verdicts: (Verdict | Promise<Verdict>)[] = []
    let isSettled = true
    for (const scheme of schemes) {
      const verdict = scheme.authenticate(credentials)
      if (verdict instanceof Promise) isSettled = false
      verdicts.push(verdict)
    }
    return isSettled
      ? decide(requirements, schemes, verdicts as readonly Verdict[]) // none is a promise
      : Promise.all(verdicts).then((settled) => decide(requirements, schemes, settled))
  }
}

function decide(
  requirements: readonly Requirement[],
  schemes: readonly AuthScheme[],
  verdicts: readonly Verdict[],
): Admission {
  const callers = new Map<AuthScheme, Caller>()
  for (const [place, verdict] of verdicts.entries()) {
    const scheme = schemes[place]
    if (scheme && typeof verdict === 'object') callers.set(scheme, verdict.caller)
  }
  const lacking = new Map<AuthScheme, readonly string[]>()
  for (const { needs } of requirements) {
    let isMet = true
    for (const { scheme, scopes } of needs) {
      const caller = callers.get(scheme)
      const missing = caller && missingScopes(caller, scopes)
      if (missing && missing.length > 0) lacking.set(scheme, missing)
      if (missing?.length !== 0) isMet = false
    }
    const [first] = needs
    if (isMet && first) return joined(first.scheme, callers)
  }
  return lacking.size > 0 ? forbidden(lacking) : unknown(schemes, verdicts)
}

/** One caller, and what else its request proves. */
function joined(scheme: AuthScheme, callers: ReadonlyMap<AuthScheme, Caller>): Caller {
  const caller = callers.get(scheme) as Caller // its requirement is met
  if (callers.size === 1) return caller
  return { ...caller, also: [...callers.values()].filter((other) => other !== caller) }
}

function forbidden(lacking: ReadonlyMap<AuthScheme, readonly string[]>): Admission {
  const scopes = [...new Set([...lacking.values()].flat())]
  return {
    refused: new A2AError('PERMISSION_DENIED', `The credentials are not good for ${scopes.join(', ')}`),
    challenge: challenges([...lacking].map(([scheme, missing]) => [scheme, { missing }])),
  }
}

function unknown(schemes: readonly AuthScheme[], verdicts: readonly Verdict[]): Admission {
  const shortfalls = schemes.map((scheme, place): [AuthScheme, Shortfall] => {
    return [scheme, verdicts[place] === 'refused' ? 'refused' : 'absent']
  })
  return {
    refused: new A2AError('UNAUTHENTICATED', 'Missing or invalid credentials'),
    challenge: challenges(shortfalls),
  }
}

function challenges(shortfalls: readonly (readonly [AuthScheme, Shortfall])[]): string {
  return [...new Set(shortfalls.map(([scheme, shortfall]) => scheme.challenge(shortfall)))].join(', ')
}
