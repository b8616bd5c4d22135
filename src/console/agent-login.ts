/**
 * Trying the credentials of an agent, which may mean that a person logs in at an authorization server: the page is told
 * where, the browser goes there, and comes back to `/console/oauth/callback`. Nobody is sent anywhere unless somebody
 * asked for it: calls that need a login which is not there say so.
 */
import { canParseUrl } from '../model/can-parse-url.js'
import { A2AError } from '../model/errors.js'
import type { LoginView } from './console-api.js'
import { isSame } from './cookies.js'
import type { Asking } from './given-credential.js'

const longestLoginMs = 10 * 60 * 1000

export interface LoginPlace {
  /** Where authorization servers send the browser back to. */
  readonly redirectUri: string
  /** Known to the browser that asked: a link to the login is of no use in another one. */
  readonly browser: string
}

interface Expected {
  readonly browser: string
  /** Whatever comes of it. */
  readonly over: Promise<void>
  arrived(url: string): void
}

/** Logins that are under way, by the `state` that no stranger can guess. */
export class Redirects {
  readonly #expected = new Map<string, Expected & { readonly ref: string }>()

  expect(state: string, expected: Expected & { readonly ref: string }): void {
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
  #place: LoginPlace | undefined
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
  async begin(place: LoginPlace, attempt: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.stop()
    const current = new AbortController()
    this.#current = current
    this.#place = place
    this.#show({ state: 'trying' })
    const told = new Promise<void>((resolve) => {
      this.#told = resolve
    })
    const signal = AbortSignal.any([current.signal, AbortSignal.timeout(longestLoginMs)])
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
  readonly asking: Asking = {
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

  #mustBeAsked(): LoginPlace {
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
