/** Authenticates requests, for HTTP and gRPC alike. */
import { type AuthResult, isRefused } from '../model/admission.js'
import { A2AError } from '../model/errors.js'
import type { Caller } from '../model/service.js'
import { missingScopes, type Requirement, schemesOf } from './requirement.js'
import type { AuthScheme, Credentials, Shortfall, Verdict } from './scheme.js'
import { digestOf } from './static-schemes.js'

/** Returns the caller, or the error to reject the request with. Returns no promise if no scheme does. */
export type Admit = (credentials: Credentials) => AuthResult | Promise<AuthResult>

/** Limits failures of authentication. `place` is the index of a scheme in the list of all schemes. */
export interface FailureGuard {
  /** The credentials of a request that are not verified now. Undefined: all are verified. */
  skip(credentials: Credentials, address: string): Skipped | undefined
  /** Receives the verdicts of all schemes and may replace the decision. */
  decided(admission: AuthResult, request: Verified): AuthResult
}

/** Credentials that are not verified now: the address of the caller failed too often. */
export interface Skipped {
  /** Whether the credential of each scheme is skipped. Its verdict is then `refused`. */
  readonly places: readonly boolean[]
  /** Seconds until the address may try again. */
  readonly wait: number
}

/** A request whose credentials were verified. */
export interface Verified {
  readonly credentials: Credentials
  /** The address of the caller, read before the verification: a caller that has left meanwhile has none. */
  readonly address: string
  readonly verdicts: readonly Verdict[]
  readonly skipped: Skipped | undefined
}

/** A requirement whose schemes are given by their index in the list of all. Evaluated for every request. */
type Plan = readonly { readonly place: number; readonly scopes: readonly string[] }[]

export function createAdmit(requirements: readonly Requirement[], guard?: FailureGuard): Admit {
  const schemes = schemesOf(requirements)
  const plans = requirements.map(
    ({ needs }): Plan => needs.map(({ scheme, scopes }) => ({ place: schemes.indexOf(scheme), scopes })),
  )
  return (credentials) => {
    const address = (guard && credentials.address?.()) ?? ''
    const skipped = guard?.skip(credentials, address)
    const verdicts: (Verdict | Promise<Verdict>)[] = []
    let isSettled = true
    for (const scheme of schemes) {
      const verdict = skipped?.places[verdicts.length] ? 'refused' : scheme.authenticate(credentials)
      if (verdict instanceof Promise) isSettled = false
      verdicts.push(verdict)
    }
    const decided = (settled: readonly Verdict[]): AuthResult => {
      const decision = decide(plans, schemes, settled)
      const admission = guard?.decided(decision, { credentials, address, verdicts: settled, skipped }) ?? decision
      if (!isRefused(admission)) credentials.onCaller?.(admission)
      return admission
    }
    return isSettled
      ? decided(verdicts as readonly Verdict[]) // none is a promise
      : Promise.all(verdicts).then(decided)
  }
}

function decide(plans: readonly Plan[], schemes: readonly AuthScheme[], verdicts: readonly Verdict[]): AuthResult {
  let lacking: Map<AuthScheme, readonly string[]> | undefined
  for (const plan of plans) {
    let isMet = true
    for (const { place, scopes } of plan) {
      const caller = callerOf(verdicts[place])
      const missing = caller && missingScopes(caller, scopes)
      if (missing?.length !== 0) isMet = false
      if (!missing || missing.length === 0) continue
      lacking ??= new Map()
      lacking.set(schemes[place] as AuthScheme, missing) // the index is valid: plans are built from the schemes
    }
    const caller = isMet && plan[0] ? callerOf(verdicts[plan[0].place]) : undefined
    if (caller) return joined(caller, verdicts)
  }
  return lacking ? forbidden(lacking) : unknown(schemes, verdicts)
}

export function callerOf(verdict: Verdict | undefined): Caller | undefined {
  return typeof verdict === 'object' ? verdict.caller : undefined
}

/** The caller, with the results of the other schemes of its request. */
function joined(caller: Caller, verdicts: readonly Verdict[]): Caller {
  if (verdicts.length === 1) return caller
  const also = verdicts.flatMap((verdict) => callerOf(verdict) ?? []).filter((other) => other !== caller)
  return also.length === 0 ? caller : { ...caller, also }
}

function forbidden(lacking: ReadonlyMap<AuthScheme, readonly string[]>): AuthResult {
  const scopes = [...new Set([...lacking.values()].flat())]
  return {
    refused: new A2AError('PERMISSION_DENIED', `The credentials lack the scopes ${scopes.join(', ')}`),
    challenge: challenges([...lacking].map(([scheme, missing]) => [scheme, { missing }])),
  }
}

function unknown(schemes: readonly AuthScheme[], verdicts: readonly Verdict[]): AuthResult {
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

/** Reads the credential of one scheme from a request: empty if there is none, undefined if the scheme cannot say. */
export type CredentialReader = (credentials: Credentials) => string | undefined

/** Schemes that read the same headers share one credential. */
export function credentialReader({ name: scheme, credential, headers = [] }: AuthScheme): CredentialReader {
  if (credential) {
    return (credentials) => {
      const value = credential(credentials)
      return value === undefined ? '' : `${scheme}= ${value}`
    }
  }
  if (headers.length === 0) return () => undefined
  return (credentials) => {
    let text = ''
    for (const name of headers) {
      const value = credentials.headers.get(name)
      if (value !== null) text += `${name}: ${value}\n`
    }
    return text
  }
}

/** Credentials beyond these numbers replace the ones that were used least recently. */
const maxCredentials = 10_000
/** A credential has many encodings, and a caller many tokens. They must not replace those of other callers. */
const maxCredentialsOfCaller = 100

/** Remembers digests of credentials that were valid. They are verified again with every use. */
export class VerifiedCredentials {
  /** Ids of callers by the digests of their credentials. */
  readonly #callers = new Map<string, string>()
  readonly #digests = new Map<string, Set<string>>()
  /** The last one added. Successive requests often have the same credential, which then needs no digest. */
  #last: string | undefined

  has(credential: string | undefined): boolean {
    return credential !== undefined && this.#callers.has(digestOf(credential))
  }

  add(credential: string | undefined, caller: string): void {
    if (!credential || credential === this.#last) return
    this.#last = credential
    const digest = digestOf(credential)
    this.#remove(digest)
    this.#callers.set(digest, caller)
    const own = this.#digests.get(caller) ?? new Set()
    this.#digests.set(caller, own.add(digest))
    if (own.size > maxCredentialsOfCaller) this.#remove(own.keys().next().value)
    if (this.#callers.size > maxCredentials) this.#remove(this.#callers.keys().next().value)
  }

  delete(credential: string | undefined): void {
    if (!credential || this.#callers.size === 0) return
    if (credential === this.#last) this.#last = undefined
    this.#remove(digestOf(credential))
  }

  #remove(digest: string | undefined): void {
    const caller = digest === undefined ? undefined : this.#callers.get(digest)
    if (digest === undefined || caller === undefined) return
    this.#callers.delete(digest)
    const own = this.#digests.get(caller)
    own?.delete(digest)
    if (own?.size === 0) this.#digests.delete(caller)
  }
}
