/** What callers must prove: any one of several requirements, each of them schemes that are all needed. */
import type { AgentCard, SecurityRequirement } from '../model/agent-card.js'
import { isObject } from '../model/is-object.js'
import type { Caller } from '../model/service.js'
import type { AuthScheme } from './scheme.js'

interface Need {
  readonly scheme: AuthScheme
  readonly scopes: readonly string[]
}

/** Schemes that are needed together, with the scopes that their credentials must have. */
export interface Requirement {
  readonly needs: readonly Need[]
}

/** One scheme or requirement, or several of which a caller must satisfy one. */
export type Auth = AuthScheme | Requirement | readonly (AuthScheme | Requirement)[]

/**
 * All of these together. The first one says who the caller is, the others vouch for it.
 *
 * ```ts
 * serve(agent, { auth: [allOf(oidc(issuer, { audience }), mtls())] })
 * ```
 */
export function allOf(...parts: readonly (AuthScheme | Requirement)[]): Requirement {
  const needs = parts.flatMap((part) => requirementOf(part).needs)
  if (needs.length === 0) throw new TypeError('allOf needs at least one scheme')
  return { needs }
}

/**
 * A scheme whose credentials must be good for these scopes, all of them.
 *
 * ```ts
 * serve(agent, { auth: [withScopes(oidc(issuer, { audience }), ['agent:call'])] })
 * ```
 */
export function withScopes(scheme: AuthScheme, scopes: readonly string[]): Requirement {
  return { needs: [{ scheme, scopes }] }
}

function requirementOf(part: AuthScheme | Requirement): Requirement {
  return 'needs' in part ? part : { needs: [{ scheme: part, scopes: [] }] }
}

/** Throws a `TypeError` that says what to write unless this is a scheme or a list of schemes. */
export function assertAuth(auth: unknown): asserts auth is Auth {
  for (const part of listOf(auth)) {
    if (isClientCredential(part))
      throw new TypeError(
        "`auth` contains a client credential from 'dragoman/client'. Import a scheme such as `apiKey` from 'dragoman' and write `auth: apiKey('…')`",
      )
    if (!isObject(part) || !('authenticate' in part || 'needs' in part))
      throw new TypeError("`auth` must be a scheme or a list of schemes: write `auth: apiKey('…')`, or `auth: 'none'`")
  }
}

function listOf<Part>(auth: Part | readonly Part[]): readonly Part[] {
  return Array.isArray(auth) ? auth : [auth as Part] // `Array.isArray` does not narrow readonly arrays
}

/** Whether this is made by `apiKeyCredential` or another function of `dragoman/client`. */
function isClientCredential(part: unknown): boolean {
  return isObject(part) && 'fits' in part && 'get' in part
}

export function requirementsOf(auth: Auth): readonly Requirement[] {
  assertAuth(auth)
  const requirements = listOf<AuthScheme | Requirement>(auth).map(requirementOf)
  const byName = new Map<string, AuthScheme>()
  for (const { needs } of requirements) {
    for (const { scheme } of needs) {
      const other = byName.get(scheme.name)
      if (other && other !== scheme)
        throw new TypeError(`Two schemes are called ${scheme.name}: give one of them another name with \`scheme\``)
      byName.set(scheme.name, scheme)
    }
  }
  return requirements
}

/** Every scheme once, in the order they are named. */
export function schemesOf(requirements: readonly Requirement[]): readonly AuthScheme[] {
  return [...new Set(requirements.flatMap(({ needs }) => needs.map(({ scheme }) => scheme)))]
}

/** What the card says about it. */
export function cardSecurity(
  requirements: readonly Requirement[],
): Pick<AgentCard, 'securitySchemes' | 'securityRequirements'> {
  if (requirements.length === 0) return {}
  return {
    securitySchemes: Object.fromEntries(schemesOf(requirements).map(({ name, card }) => [name, card])),
    securityRequirements: requirements.map(({ needs }) => ({
      schemes: Object.fromEntries(
        needs.map(({ scheme, scopes }) => [scheme.name, scopes.length > 0 ? { list: scopes } : {}]),
      ),
    })),
  }
}

/** The scopes that a credential lacks. */
export function missingScopes({ scopes = [] }: Caller, wanted: readonly string[]): readonly string[] {
  return wanted.filter((scope) => !scopes.includes(scope))
}

/** Whether a caller has proved what a requirement of the card asks for. */
export function isMet({ schemes = {} }: SecurityRequirement, caller: Caller): boolean {
  const proofs = [caller, ...(caller.also ?? [])]
  return Object.entries(schemes).every(([name, { list = [] }]) =>
    proofs.some((proof) => proof.scheme === name && missingScopes(proof, list).length === 0),
  )
}
