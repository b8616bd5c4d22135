/** Tokens by OAuth 2 and OpenID Connect: obtained, stored, refreshed, and replaced when the agent rejects one. */
import type { TokenEndpointResponse } from 'oauth4webapi'
import type { SecurityScheme } from '../../model/agent-card.js'
import { A2AError } from '../../model/errors.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import { TransportError } from '../../model/transport-error.js'
import { bearerHeader, type CredentialContext, type CredentialSource, type SchemeNeed } from './credential.js'
import { type FlowCall, type FlowName, type FlowOptions, refresh, runFlow } from './oauth2-flows.js'
import { findServer, originsToDial, type ServerOptions } from './oauth2-server.js'

/** A token in a `TokenStore`. */
interface StoredToken {
  /** Absent after an agent rejected it, if there is a refresh token. */
  readonly accessToken?: string
  readonly refreshToken?: string
  /** Time in milliseconds since 1970. */
  readonly expiresAtMs?: number
}

/** Stores tokens: in memory, a key chain, a file, or the storage of a browser. Tokens are JSON values. */
export interface TokenStore {
  get(key: string): StoredToken | undefined | Promise<StoredToken | undefined>
  set(key: string, token: StoredToken): void | Promise<void>
  delete(key: string): void | Promise<void>
}

/** Creates a token store in memory. */
export function createTokenStore(): TokenStore {
  const tokens = new Map<string, StoredToken>()
  return {
    get: (key) => tokens.get(key),
    set(key, token) {
      tokens.set(key, token)
    },
    delete(key) {
      tokens.delete(key)
    },
  }
}

/** Options of `oauth2`. */
export interface OAuth2Options extends FlowOptions, ServerOptions {
  /** Default: a flow that the card names, or else the first flow that the options allow. */
  readonly flow?: FlowName
  /** Default: the scopes that the card asks for. */
  readonly scopes?: readonly string[]
  /** Default: in memory. */
  readonly store?: TokenStore
  /** Returns the time in milliseconds since 1970, for tests. */
  readonly now?: () => number
}

const optionNames = {
  clientId: true,
  clientSecret: true,
  showCode: true,
  open: true,
  receiver: true,
  parameters: true,
  issuer: true,
  tokenUrl: true,
  authorizationUrl: true,
  deviceAuthorizationUrl: true,
  allowedOrigins: true,
  flow: true,
  scopes: true,
  store: true,
  now: true,
} satisfies NamesOf<OAuth2Options>

/** Tokens are refreshed this long before they expire, because a call takes time. */
const expiryMarginMs = 30_000

/**
 * Obtains tokens from an authorization server. Flows: client credentials (`clientSecret`), device code (`showCode`) and
 * authorization code with PKCE (`open` and `receiver`).
 *
 * ```ts
 * oauth2({ clientId: 'me', clientSecret, issuer: 'https://login.example' })
 * ```
 */
export function oauth2(options: OAuth2Options): CredentialSource {
  assertOptions('oauth2', options, optionNames)
  const { store = createTokenStore(), now = Date.now } = options
  const shared = createSingleFlight<string>()

  async function obtain(
    key: string,
    flow: FlowName,
    need: SchemeNeed,
    context: CredentialContext,
    signal: AbortSignal,
  ): Promise<string> {
    const stored = await store.get(key)
    if (stored?.accessToken !== undefined && !isExpired(stored, now())) return stored.accessToken
    const call = await prepare(flow, need, context, signal)
    const refreshed = stored?.refreshToken && (await refreshOrStartOver(stored.refreshToken, call))
    const answer = refreshed || (await runFlow(flow, call))
    await store.set(key, toStored(answer, stored, now()))
    return answer.access_token
  }

  async function prepare(
    flow: FlowName,
    { scheme, scopes }: SchemeNeed,
    context: CredentialContext,
    signal: AbortSignal,
  ): Promise<FlowCall> {
    const { origin } = context
    const send = context.sender(originsToDial(options, origin))
    const found = await findServer(scheme, options, { flow, origin, send })
    return { found, options, scopes: options.scopes ?? scopes, send, signal }
  }

  return {
    ...((options.issuer ?? options.tokenUrl) !== undefined && {
      defaultScheme: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
    }),
    fits: (scheme) => flowFor(scheme, options) !== undefined,
    async get(need, context) {
      const flow = flowFor(need.scheme, options)
      if (!flow)
        throw new A2AError(
          'UNAUTHENTICATED',
          'No OAuth 2 flow is possible: pass `clientSecret`, `showCode`, or `open` and `receiver`',
        )
      const key = keyOf(flow, need, options, context)
      return bearerHeader(await shared(key, (signal) => obtain(key, flow, need, context, signal), context.signal))
    },
    async refused(need, given, context) {
      const flow = flowFor(need.scheme, options)
      if (!flow) return false
      const key = keyOf(flow, need, options, context)
      const stored = await store.get(key)
      // Another call may have replaced the token already.
      if (stored?.accessToken === undefined || given.headers?.authorization !== `Bearer ${stored.accessToken}`)
        return true
      if (stored.refreshToken === undefined) await store.delete(key)
      else await store.set(key, { refreshToken: stored.refreshToken })
      return true
    },
  }
}

/** Returns undefined if the refresh token is no longer valid. */
async function refreshOrStartOver(refreshToken: string, call: FlowCall): Promise<TokenEndpointResponse | undefined> {
  try {
    return await refresh(refreshToken, call)
  } catch (caught) {
    if (caught instanceof A2AError) return undefined
    throw caught
  }
}

/** If the server sends no new refresh token, the old one stays valid. */
function toStored(answer: TokenEndpointResponse, before: StoredToken | undefined, nowMs: number): StoredToken {
  const refreshToken = answer.refresh_token ?? before?.refreshToken
  return {
    accessToken: answer.access_token,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(answer.expires_in !== undefined && { expiresAtMs: nowMs + answer.expires_in * 1000 }),
  }
}

function isExpired({ expiresAtMs }: StoredToken, nowMs: number): boolean {
  return expiresAtMs !== undefined && nowMs >= expiresAtMs - expiryMarginMs
}

/** Each agent gets its own token. */
function keyOf(
  flow: FlowName,
  { scheme, scopes }: SchemeNeed,
  options: OAuth2Options,
  { origin }: CredentialContext,
): string {
  const { issuer, tokenUrl, clientId, parameters } = options
  const server = issuer ?? tokenUrl ?? scheme
  return JSON.stringify([origin, server, flow, clientId, [...(options.scopes ?? scopes)].sort(), parameters ?? {}])
}

function flowFor(scheme: SecurityScheme, options: OAuth2Options): FlowName | undefined {
  const isBearer = 'httpAuthSecurityScheme' in scheme && scheme.httpAuthSecurityScheme.scheme.toLowerCase() === 'bearer'
  // A bearer scheme names no authorization server, so the user has to.
  if (isBearer && options.issuer === undefined && options.tokenUrl === undefined) return undefined
  if (!isBearer && !('oauth2SecurityScheme' in scheme) && !('openIdConnectSecurityScheme' in scheme)) return undefined
  const { clientSecret, showCode, open, receiver, flow } = options
  const possible: readonly FlowName[] = [
    ...(clientSecret !== undefined ? (['clientCredentials'] as const) : []),
    ...(showCode ? (['deviceCode'] as const) : []),
    ...(open && receiver ? (['authorizationCode'] as const) : []),
  ]
  if (flow !== undefined) return possible.find((each) => each === flow)
  const named = 'oauth2SecurityScheme' in scheme ? Object.keys(scheme.oauth2SecurityScheme.flows) : []
  return possible.find((each) => named.includes(each)) ?? possible[0]
}

interface Flight<T> {
  readonly result: Promise<T>
  readonly controller: AbortController
  waiting: number
}

/**
 * Runs work once for all concurrent callers with the same key. A caller can stop waiting with its signal; when the last one
 * does, the work is aborted.
 */
function createSingleFlight<T>() {
  const flights = new Map<string, Flight<T>>()
  const start = (key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> => {
    const controller = new AbortController()
    const result = work(controller.signal).finally(() => {
      if (flights.get(key) === flight) flights.delete(key)
    })
    const flight: Flight<T> = { result, controller, waiting: 0 }
    // Callers see the failure. If all have left, it is of no interest.
    result.catch(() => undefined)
    flights.set(key, flight)
    return flight
  }
  return async (key: string, work: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> => {
    if (signal?.aborted) throw abandoned(signal)
    const flight = flights.get(key) ?? start(key, work)
    flight.waiting += 1
    try {
      return await (signal ? untilAborted(flight.result, signal) : flight.result)
    } finally {
      flight.waiting -= 1
      if (flight.waiting === 0) {
        if (flights.get(key) === flight) flights.delete(key)
        flight.controller.abort()
      }
    }
  }
}

async function untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: () => void = () => undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(abandoned(signal))
    signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([result, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function abandoned({ reason }: AbortSignal): TransportError {
  const isTimeout = reason instanceof Error && reason.name === 'TimeoutError'
  return isTimeout
    ? new TransportError('timeout', 'No token arrived in time', { cause: reason })
    : new TransportError('aborted', 'The call was aborted while it waited for a token', { cause: reason })
}
