/** The credentials of one agent: typed into the page or given at the start of the console; and its logins. */
import type { ConnectOptions } from '../client/connect-options.js'
import { type CredentialSource, type CredentialSources, sourcesIn } from '../client/credentials/credential.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { A2AError } from '../model/errors.js'
import type { CredentialKind, GivenCredential, LoginView, NamedAgent } from './console-api.js'
import type { LoginPrompts } from './given-credential.js'
import { sourceFor } from './given-credential.js'
import { isSame } from './responses.js'

interface StoredCredential {
  readonly kind: CredentialKind
  readonly source?: CredentialSource
  readonly headers?: Readonly<Record<string, string>>
}

/** Maximum number of schemes of one agent. */
const maxSchemes = 20

export class AgentCredentials {
  readonly login: AgentLogin
  readonly #own: readonly CredentialSource[]
  /** By scheme name of the card; the empty name fits every scheme. */
  readonly #stored = new Map<string, StoredCredential>()

  constructor(login: AgentLogin, own: CredentialSources | undefined) {
    this.login = login
    this.#own = own === undefined ? [] : sourcesIn(own)
  }

  /** Stores or, with null, deletes a credential. Throws `TypeError` if the credential is invalid. */
  set(scheme: string, given: GivenCredential | null): void {
    if (given && !this.#stored.has(scheme) && this.#stored.size >= maxSchemes)
      throw new TypeError(`The agent has ${maxSchemes} credentials, the maximum: remove one first`)
    this.login.forget()
    if (given) this.#stored.set(scheme, this.#storedAs(scheme, given))
    else this.#stored.delete(scheme)
  }

  get view(): Pick<NamedAgent, 'credentials' | 'hasOwnCredential' | 'login'> {
    const { view: login } = this.login
    const kinds = [...this.#stored].map(([scheme, { kind }]) => [scheme, kind] as const)
    return {
      ...(kinds.length > 0 && { credentials: Object.fromEntries(kinds) }),
      ...(this.#own.length > 0 && { hasOwnCredential: true }),
      ...(login && { login }),
    }
  }

  get options(): Pick<ConnectOptions, 'credentials' | 'headers'> {
    const stored = [...this.#stored.values()]
    const sources = [...stored.flatMap(({ source }) => source ?? []), ...this.#own]
    const headers = Object.assign({}, ...stored.map((each) => each.headers ?? {})) as Record<string, string>
    return {
      ...(sources.length > 0 && { credentials: sources }),
      ...(Object.keys(headers).length > 0 && { headers }),
    }
  }

  #storedAs(scheme: string, given: GivenCredential): StoredCredential {
    if (given.kind === 'header') return { kind: given.kind, headers: { [given.name]: given.value } }
    const source = sourceFor(given, this.login.prompts)
    return { kind: given.kind, ...(source && { source: scheme === '' ? source : onlyFor(scheme, source) }) }
  }
}

/** Restricts a credential to one scheme, because a card may have several of the same kind. */
function onlyFor(wanted: string, source: CredentialSource): CredentialSource {
  return { ...source, fits: (scheme, name) => name === wanted && source.fits(scheme, name) }
}

const loginTimeoutMs = 10 * 60 * 1000

/** The browser of a login. */
export interface LoginBrowser {
  /** The redirect URI of authorization servers. */
  readonly redirectUri: string
  /** A secret in a cookie of the browser, so that the login cannot be completed in another one. */
  readonly browser: string
}

interface PendingLogin {
  readonly browser: string
  /** Resolves when the login has ended. */
  readonly over: Promise<void>
  arrived(url: string): void
}

/** Pending logins by their unguessable `state`. */
export class Redirects {
  readonly #expected = new Map<string, PendingLogin & { readonly ref: string }>()

  expect(state: string, expected: PendingLogin & { readonly ref: string }): void {
    this.#expected.set(state, expected)
    void expected.over.then(() => this.#expected.delete(state))
  }

  /** Continues the login and returns its agent; undefined if no login is pending. */
  async arrive(url: URL, browser: string | undefined): Promise<string | undefined> {
    const expected = this.#expected.get(url.searchParams.get('state') ?? '')
    if (!expected || browser === undefined || !isSame(browser, expected.browser)) return undefined
    expected.arrived(url.href)
    await expected.over
    return expected.ref
  }
}

/**
 * Tests the credentials of an agent. A person may have to log in at an authorization server: the page shows the address, and
 * the browser returns to `/console/oauth/callback`. Calls never start a login; they fail and refer to the Access tab.
 */
export class AgentLogin {
  readonly #ref: string
  readonly #redirects: Redirects
  readonly #changed: () => void
  #view: LoginView | undefined
  #place: LoginBrowser | undefined
  #over: Promise<void> = Promise.resolve()
  #current = new AbortController()
  /** Resolves `begin` when the view has something to show. */
  #onView: () => void = () => undefined

  constructor(ref: string, redirects: Redirects, changed: () => void) {
    this.#ref = ref
    this.#redirects = redirects
    this.#changed = changed
  }

  get view(): LoginView | undefined {
    return this.#view
  }

  /** Resolves when the user has something to do, or the login has ended. */
  async begin(place: LoginBrowser, attempt: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.stop()
    const current = new AbortController()
    this.#current = current
    this.#place = place
    this.#show({ state: 'trying' })
    const viewChanged = new Promise<void>((resolve) => {
      this.#onView = resolve
    })
    const signal = AbortSignal.any([current.signal, AbortSignal.timeout(loginTimeoutMs)])
    const shown = (view: LoginView) => {
      if (this.#current === current) this.#show(view)
    }
    this.#over = attempt(signal).then(
      () => shown({ state: 'accepted' }),
      (error: Error) => shown({ state: 'refused', error: error.message }),
    )
    await Promise.race([viewChanged, this.#over])
  }

  /** Prompts for the OAuth 2 flows of the client. */
  readonly prompts: LoginPrompts = {
    showCode: (code) => {
      assertWebUrl(code.verificationUri)
      this.#assertPending()
      this.#show({ state: 'code', code })
    },
    open: (url) => {
      assertWebUrl(url)
      const { browser } = this.#assertPending()
      const [over, arrived] = [this.#over, (back: string) => this.#arrived(back)]
      const state = new URL(url).searchParams.get('state') ?? ''
      this.#redirects.expect(state, { ref: this.#ref, browser, over, arrived })
      this.#show({ state: 'open', url })
    },
    receiver: () => {
      const { redirectUri } = this.#assertPending()
      return {
        redirectUri,
        receive: (signal) =>
          new Promise((resolve, reject) => {
            this.#arrived = resolve
            signal?.addEventListener('abort', () => reject(new Error('The login was not completed')), {
              once: true,
            })
          }),
      }
    },
  }

  #arrived: (url: string) => void = () => undefined

  /** Aborts a pending login. */
  stop(): void {
    this.#place = undefined
    this.#current.abort()
  }

  forget(): void {
    this.stop()
    this.#current = new AbortController()
    this.#view = undefined
  }

  #assertPending(): LoginBrowser {
    if (!this.#place) throw notNow()
    return this.#place
  }

  #show(view: LoginView): void {
    this.#view = view
    if (view.state === 'accepted' || view.state === 'refused') this.#place = undefined
    if (view.state !== 'trying') this.#onView()
    this.#changed()
  }
}

/** The page shows the URL as a link, and it comes from the authorization server. */
function assertWebUrl(url: string): void {
  if (/^https?:/i.test(url) && canParseUrl(url)) return
  throw new A2AError('UNAUTHENTICATED', 'The URL of the authorization server is not an http or https URL')
}

function notNow(): A2AError {
  return new A2AError('UNAUTHENTICATED', 'A login is required: open the Access tab of this agent')
}
