/** The credentials of one agent: those that were typed into the page, and those of whoever started the console. */
import type { ConnectOptions } from '../client/connect-options.js'
import { type CredentialSource, type CredentialSources, listOf } from '../client/credentials/index.js'
import type { AgentLogin } from './agent-login.js'
import type { CredentialKind, GivenCredential, NamedAgent } from './console-api.js'
import { sourceFor } from './given-credential.js'

interface Held {
  readonly kind: CredentialKind
  readonly source?: CredentialSource
  readonly headers?: Readonly<Record<string, string>>
}

/** A card that names more schemes than that is no card. */
const mostSchemes = 20

export class AgentCredentials {
  readonly login: AgentLogin
  readonly #own: readonly CredentialSource[]
  /** By the card's names of schemes; empty: for any. */
  readonly #held = new Map<string, Held>()

  constructor(login: AgentLogin, own: CredentialSources | undefined) {
    this.login = login
    this.#own = own === undefined ? [] : listOf(own)
  }

  /** Throws in plain words for what no credential can be. */
  hold(scheme: string, given: GivenCredential | null): void {
    if (given && !this.#held.has(scheme) && this.#held.size >= mostSchemes)
      throw new TypeError(`There are ${mostSchemes} credentials for this agent: take one back first`)
    this.login.forget()
    if (given) this.#held.set(scheme, this.#heldAs(scheme, given))
    else this.#held.delete(scheme)
  }

  get view(): Pick<NamedAgent, 'credentials' | 'hasOwnCredential' | 'login'> {
    const { view: login } = this.login
    const kinds = [...this.#held].map(([scheme, { kind }]) => [scheme, kind] as const)
    return {
      ...(kinds.length > 0 && { credentials: Object.fromEntries(kinds) }),
      ...(this.#own.length > 0 && { hasOwnCredential: true }),
      ...(login && { login }),
    }
  }

  get options(): Pick<ConnectOptions, 'credentials' | 'headers'> {
    const held = [...this.#held.values()]
    const sources = [...held.flatMap(({ source }) => source ?? []), ...this.#own]
    const headers = Object.assign({}, ...held.map((each) => each.headers ?? {})) as Record<string, string>
    return {
      ...(sources.length > 0 && { credentials: sources }),
      ...(Object.keys(headers).length > 0 && { headers }),
    }
  }

  #heldAs(scheme: string, given: GivenCredential): Held {
    if (given.kind === 'header') return { kind: given.kind, headers: { [given.name]: given.value } }
    const source = sourceFor(given, this.login.asking)
    return { kind: given.kind, ...(source && { source: scheme === '' ? source : onlyFor(scheme, source) }) }
  }
}

/** Two schemes of one kind are two credentials. */
function onlyFor(wanted: string, source: CredentialSource): CredentialSource {
  return { ...source, fits: (scheme, name) => name === wanted && source.fits(scheme, name) }
}
