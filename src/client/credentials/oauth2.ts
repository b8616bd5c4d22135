/** Tokens by OAuth 2 and OpenID Connect: got, kept, renewed and, when an agent refuses one, got again. */
import type { TokenEndpointResponse } from 'oauth4webapi'
import type { SecurityScheme } from '../../model/agent-card.js'
import { A2AError } from '../../model/errors.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import { TransportError } from '../../model/transport-error.js'
import { bearerHeader, type CredentialContext, type CredentialSource, type SchemeNeed } from './credential.js'
import { type FlowCall, type FlowName, type FlowOptions, refresh, runFlow } from './oauth2-flows.js'
import { findServer, namedOrigins, type ServerOptions } from './oauth2-server.js'

export interface OAuth2Options extends FlowOptions, ServerOptions {
  /** Default: the card's, else the first one of these options that everything is given for. */
  readonly flow?: FlowName
  /** Default: those that the card asks for. */
  readonly scopes?: readonly string[]
  /** Default: in memory. */
  readonly store?: TokenStore
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

/** Renewed so long before its end: calls take time. */
const marginMs = 30_000

/**
 * ```ts
 * oauth2({ clientId: 'me', clientSecret, issuer: 'https://login.example' })
 * ```
 */
export function oauth2(options: OAuth2Options): CredentialSource {
  assertOptions('oauth2', options, optionNames)
  const { store = createTokenStore(), now = Date.now } = options
  const flight = createSingleFlight<string>()

  async function obtain(
    key: string,
    flow: FlowName,
    need: SchemeNeed,
    context: CredentialContext,
    signal: AbortSignal,
  ) {
    const kept = await store.get(key)
    if (kept?.accessToken !== undefined && !isOver(kept, now())) return kept.accessToken
    const call = await prepare(flow, need, context, signal)
    const answer = (kept?.refreshToken && (await renewed(kept.refreshToken, call))) || (await runFlow(flow, call))
    const token = stored(answer, kept, now())
    await store.set(key, token)
    return answer.access_token
  }

  async function prepare(
    flow: FlowName,
    { scheme, scopes }: SchemeNeed,
    context: CredentialContext,
    signal: AbortSignal,
  ): Promise<FlowCall> {
    const { origin } = context
    const send = context.sender(namedOrigins(options, origin))
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
      if (!flow) throw new A2AError('UNAUTHENTICATED', 'No way to a token was given')
      const key = keyOf(flow, need, options, context)
      return bearerHeader(await flight(key, (signal) => obtain(key, flow, need, context, signal), context.signal))
    },
    async refused(need, given, context) {
      const flow = flowFor(need.scheme, options)
      if (!flow) return false
      const key = keyOf(flow, need, options, context)
      const kept = await store.get(key)
      // Somebody else may have a new one already.
      if (kept?.accessToken === undefined || given.headers?.authorization !== `Bearer ${kept.accessToken}`) return true
      if (kept.refreshToken === undefined) await store.delete(key)
      else await store.set(key, { refreshToken: kept.refreshToken })
      return true
    },
  }
}

/** Absent: what is renewed with is no longer good, and the flow begins again. */
async function renewed(refreshToken: string, call: FlowCall): Promise<TokenEndpointResponse | undefined> {
  try {
    return await refresh(refreshToken, call)
  } catch (caught) {
    if (caught instanceof A2AError) return undefined
    throw caught
  }
}

/** A server that sends no new token to renew with means the old one. */
function stored(answer: TokenEndpointResponse, before: StoredToken | undefined, nowMs: number): StoredToken {
  const refreshToken = answer.refresh_token ?? before?.refreshToken
  return {
    accessToken: answer.access_token,
    ...(refreshToken !== undefined && { refreshToken }),
    ...(answer.expires_in !== undefined && { expiresAtMs: nowMs + answer.expires_in * 1000 }),
  }
}

function isOver({ expiresAtMs }: StoredToken, nowMs: number): boolean {
  return expiresAtMs !== undefined && nowMs >= expiresAtMs - marginMs
}

/** A token is for one agent: another one that asks for the same gets its own. */
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
  const isToken = 'httpAuthSecurityScheme' in scheme && scheme.httpAuthSecurityScheme.scheme.toLowerCase() === 'bearer'
  // Where a card asks for a token and no more, it is the user who knows where tokens come from.
  if (isToken && options.issuer === undefined && options.tokenUrl === undefined) return undefined
  if (!isToken && !('oauth2SecurityScheme' in scheme) && !('openIdConnectSecurityScheme' in scheme)) return undefined
  const { clientSecret, showCode, open, receiver, flow } = options
  const able: readonly FlowName[] = [
    ...(clientSecret !== undefined ? (['clientCredentials'] as const) : []),
    ...(showCode ? (['deviceCode'] as const) : []),
    ...(open && receiver ? (['authorizationCode'] as const) : []),
  ]
  if (flow !== undefined) return able.find((each) => each === flow)
  const named = 'oauth2SecurityScheme' in scheme ? Object.keys(scheme.oauth2SecurityScheme.flows) : []
  return able.find((each) => named.includes(each)) ?? able[0]
}

/** Where tokens are kept. */

export interface StoredToken {
  /** Absent after an agent refused it; what it can be renewed with is still there. */
  readonly accessToken?: string
  readonly refreshToken?: string
  readonly expiresAtMs?: number
}

/** Plain values by plain keys: a key chain, a file, a browser's storage. */
export interface TokenStore {
  get(key: string): StoredToken | undefined | Promise<StoredToken | undefined>
  set(key: string, token: StoredToken): void | Promise<void>
  delete(key: string): void | Promise<void>
}

/** Forgets everything when the process ends. */
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

export type SingleFlight<T> = (
  key: string,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
) => Promise<T>

interface Flight<T> {
  readonly result: Promise<T>
  readonly controller: AbortController
  waiting: number
}

export function createSingleFlight<T>(): SingleFlight<T> {
  const flights = new Map<string, Flight<T>>()
  const start = (key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> => {
    const controller = new AbortController()
    const result = work(controller.signal).finally(() => {
      if (flights.get(key) === flight) flights.delete(key)
    })
    const flight: Flight<T> = { result, controller, waiting: 0 }
    // Whoever waits hears of failures; when nobody does any more, nobody has to.
    result.catch(() => undefined)
    flights.set(key, flight)
    return flight
  }
  return async (key, work, signal) => {
    if (signal?.aborted) throw stopped(signal)
    const flight = flights.get(key) ?? start(key, work)
    flight.waiting += 1
    try {
      return await (signal ? until(flight.result, signal) : flight.result)
    } finally {
      flight.waiting -= 1
      if (flight.waiting === 0) {
        if (flights.get(key) === flight) flights.delete(key)
        flight.controller.abort()
      }
    }
  }
}

async function until<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: () => void = () => undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(stopped(signal))
    signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([result, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function stopped({ reason }: AbortSignal): TransportError {
  const isTimeout = reason instanceof Error && reason.name === 'TimeoutError'
  return isTimeout
    ? new TransportError('timeout', 'No credential was there in time', { cause: reason })
    : new TransportError('aborted', 'The call was aborted while it waited for a credential', { cause: reason })
}
