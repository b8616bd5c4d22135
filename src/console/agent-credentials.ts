/** The credentials of one agent: those that were typed into the page, and those of whoever started the console. */
import type { ConnectOptions } from '../client/connect-options.js'
import { type CredentialSource, type CredentialSources, sourcesIn } from '../client/credentials/credential.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { A2AError } from '../model/errors.js'
import type { CredentialKind, GivenCredential, LoginView, NamedAgent } from './console-api.js'
import type { LoginPrompts } from './given-credential.js'
import { sourceFor } from './given-credential.js'
import { isSame } from './responses.js'

interface Held {
  readonly kind: CredentialKind
  readonly source?: CredentialSource
  readonly headers?: Readonly<Record<string, string>>
}

/** A card that names more schemes than that is no card. */
const maxSchemes = 20

export class AgentCredentials {
  readonly login: AgentLogin
  readonly #own: readonly CredentialSource[]
  /** By the card's names of schemes; empty: for any. */
  readonly #held = new Map<string, Held>()

  constructor(login: AgentLogin, own: CredentialSources | undefined) {
    this.login = login
    this.#own = own === undefined ? [] : sourcesIn(own)
  }

  /** Throws in plain words for what no credential can be. */
  hold(scheme: string, given: GivenCredential | null): void {
    if (given && !this.#held.has(scheme) && this.#held.size >= maxSchemes)
      throw new TypeError(`There are ${maxSchemes} credentials for this agent: take one back first`)
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

const loginTimeoutMs = 10 * 60 * 1000

export interface LoginBrowser {
  /** Where authorization servers send the browser back to. */
  readonly redirectUri: string
  /** Known to the browser that asked: a link to the login is of no use in another one. */
  readonly browser: string
}

interface PendingLogin {
  readonly browser: string
  /** Whatever comes of it. */
  readonly over: Promise<void>
  arrived(url: string): void
}

/** Logins that are under way, by the `state` that no stranger can guess. */
export class Redirects {
  readonly #expected = new Map<string, PendingLogin & { readonly ref: string }>()

  expect(state: string, expected: PendingLogin & { readonly ref: string }): void {
    this.#expected.set(state, expected)
    void expected.over.then(() => this.#expected.delete(state))
  }

  /** The agent it was for, when its login has gone on; absent when nobody waits for it here. */
  async arrive(url: URL, browser: string | undefined): Promise<string | undefined> {
    const expected = this.#expected.get(url.searchParams.get('state') ?? '')
    if (!expected || browser === undefined || !isSame(browser, expected.browser)) return undefined
    expected.arrived(url.href)
    await expected.over
    return expected.ref
  }
}

export class AgentLogin {
  readonly #ref: string
  readonly #redirects: Redirects
  readonly #changed: () => void
  #view: LoginView | undefined
  #place: LoginBrowser | undefined
  #over: Promise<void> = Promise.resolve()
  #current = new AbortController()
  /** Somebody waits for what to do next. */
  #told: () => void = () => undefined

  constructor(ref: string, redirects: Redirects, changed: () => void) {
    this.#ref = ref
    this.#redirects = redirects
    this.#changed = changed
  }

  get view(): LoginView | undefined {
    return this.#view
  }

  /** Resolves when there is something to do for the person, or nothing any more. */
  async begin(place: LoginBrowser, attempt: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.stop()
    const current = new AbortController()
    this.#current = current
    this.#place = place
    this.#show({ state: 'trying' })
    const told = new Promise<void>((resolve) => {
      this.#told = resolve
    })
    const signal = AbortSignal.any([current.signal, AbortSignal.timeout(loginTimeoutMs)])
    const shown = (view: LoginView) => {
      if (this.#current === current) this.#show(view)
    }
    this.#over = attempt(signal).then(
      () => shown({ state: 'accepted' }),
      (error: Error) => shown({ state: 'refused', error: error.message }),
    )
    await Promise.race([told, this.#over])
  }

  /** For the flows of the client. */
  readonly asking: LoginPrompts = {
    showCode: (code) => {
      mustBePage(code.verificationUri)
      this.#mustBeAsked()
      this.#show({ state: 'code', code })
    },
    open: (url) => {
      mustBePage(url)
      const { browser } = this.#mustBeAsked()
      const [over, arrived] = [this.#over, (back: string) => this.#arrived(back)]
      const state = new URL(url).searchParams.get('state') ?? ''
      this.#redirects.expect(state, { ref: this.#ref, browser, over, arrived })
      this.#show({ state: 'open', url })
    },
    receiver: () => {
      const { redirectUri } = this.#mustBeAsked()
      return {
        redirectUri,
        receive: (signal) =>
          new Promise((resolve, reject) => {
            this.#arrived = resolve
            signal?.addEventListener('abort', () => reject(new Error('Nobody came back from the login')), {
              once: true,
            })
          }),
      }
    },
  }

  #arrived: (url: string) => void = () => undefined

  /** What is under way is not wanted any more. */
  stop(): void {
    this.#place = undefined
    this.#current.abort()
  }

  forget(): void {
    this.stop()
    this.#current = new AbortController()
    this.#view = undefined
  }

  #mustBeAsked(): LoginBrowser {
    if (!this.#place) throw notNow()
    return this.#place
  }

  #show(view: LoginView): void {
    this.#view = view
    if (view.state === 'accepted' || view.state === 'refused') this.#place = undefined
    if (view.state !== 'trying') this.#told()
    this.#changed()
  }
}

/** It is to be a link in the page, and comes from whoever runs the authorization server. */
function mustBePage(url: string): void {
  if (/^https?:/i.test(url) && canParseUrl(url)) return
  throw new A2AError('UNAUTHENTICATED', 'The authorization server names no web page to log in at')
}

function notNow(): A2AError {
  return new A2AError('UNAUTHENTICATED', 'Somebody has to log in: see Access of this agent')
}
