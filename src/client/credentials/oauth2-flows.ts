/** The OAuth 2 flows. Each one returns the response of the token endpoint. */

import type * as OAuth from 'oauth4webapi'
import type { AuthorizationServer, TokenEndpointResponse } from 'oauth4webapi'
import { canParseUrl } from '../../model/can-parse-url.js'
import { A2AError } from '../../model/errors.js'
import { TransportError } from '../../model/transport-error.js'
import { classifyHost } from '../../net/addresses.js'
import type { HttpSender } from '../../transports/http-client.js'
import type { GuardedRequest } from '../guarded-fetch.js'
import { systemTiming } from '../retry.js'
import type { FoundServer } from './oauth2-server.js'

export type FlowName = 'clientCredentials' | 'deviceCode' | 'authorizationCode'

/** The code that the user enters on another device. */
export interface DeviceCode {
  readonly userCode: string
  readonly verificationUri: string
  /** The address with the code included. */
  readonly verificationUriComplete?: string
  readonly expiresInSeconds: number
}

/** Receives the redirect of the browser after the login. `listenForRedirect` of `dragoman/net` creates one. */
export interface RedirectReceiver {
  readonly redirectUri: string
  /** Resolves with the full URL of the redirect. */
  receive(signal?: AbortSignal): Promise<string>
  close?(): void | Promise<void>
}

export interface FlowOptions {
  /** Id of this client at the authorization server. */
  readonly clientId: string
  /** Required for `clientCredentials`. */
  readonly clientSecret?: string
  /** Shows a code and an address to the user. Required for `deviceCode`. */
  readonly showCode?: (code: DeviceCode) => void | Promise<void>
  /** Opens an address in the user's browser. Required, with `receiver`, for `authorizationCode`. */
  readonly open?: (url: string) => void | Promise<void>
  /** Starts to wait for the redirect. */
  readonly receiver?: () => RedirectReceiver | Promise<RedirectReceiver>
  /** Further parameters for the authorization server, such as `audience` or `resource`. */
  readonly parameters?: Readonly<Record<string, string>>
}

export interface FlowCall {
  readonly found: FoundServer
  readonly options: FlowOptions
  readonly scopes: readonly string[]
  readonly send: HttpSender
  readonly signal: AbortSignal
}

interface FlowDeps {
  readonly oauth: typeof OAuth
  readonly server: AuthorizationServer
  readonly client: OAuth.Client
  readonly auth: OAuth.ClientAuth
  readonly http: OAuth.TokenEndpointRequestOptions
  /** `scope` and the user's parameters. */
  readonly parameters: Record<string, string>
}

/** Minimum number of seconds between two polls for the device code. */
const minIntervalSeconds = 1

export function runFlow(flow: FlowName, call: FlowCall): Promise<TokenEndpointResponse> {
  return withDeps(call, (deps) => flows[flow](deps, call))
}

export function refresh(refreshToken: string, call: FlowCall): Promise<TokenEndpointResponse> {
  return withDeps(call, async ({ oauth, server, client, auth, http }) => {
    const response = await oauth.refreshTokenGrantRequest(server, client, auth, refreshToken, http)
    return oauth.processRefreshTokenResponse(server, client, response)
  })
}

const flows: Readonly<Record<FlowName, (deps: FlowDeps, call: FlowCall) => Promise<TokenEndpointResponse>>> = {
  async clientCredentials({ oauth, server, client, auth, http, parameters }) {
    const response = await oauth.clientCredentialsGrantRequest(server, client, auth, parameters, http)
    return oauth.processClientCredentialsResponse(server, client, response)
  },

  async deviceCode({ oauth, server, client, auth, http, parameters }, { options, signal }) {
    const asked = await oauth.deviceAuthorizationRequest(server, client, auth, parameters, http)
    const device = await oauth.processDeviceAuthorizationResponse(server, client, asked)
    const { verification_uri_complete: complete } = device
    await options.showCode?.({
      userCode: device.user_code,
      verificationUri: device.verification_uri,
      ...(complete !== undefined && { verificationUriComplete: complete }),
      expiresInSeconds: device.expires_in,
    })
    const endsAt = Date.now() + device.expires_in * 1000
    for (let seconds = Math.max(device.interval ?? 5, minIntervalSeconds); Date.now() < endsAt; ) {
      await systemTiming.wait(seconds * 1000, signal)
      const response = await oauth.deviceCodeGrantRequest(server, client, auth, device.device_code, http)
      try {
        return await oauth.processDeviceCodeResponse(server, client, response)
      } catch (caught) {
        const reason = caught instanceof oauth.ResponseBodyError ? caught.error : ''
        if (reason === 'slow_down') seconds += 5
        else if (reason !== 'authorization_pending') throw caught
      }
    }
    throw new A2AError('UNAUTHENTICATED', 'The device code expired before it was entered')
  },

  async authorizationCode({ oauth, server, client, auth, http, parameters }, { options, found, signal }) {
    const { open, receiver: listen } = options
    if (!open || !listen || server.authorization_endpoint === undefined)
      throw new A2AError(
        'UNAUTHENTICATED',
        'The authorization code flow needs `open`, `receiver` and an authorization endpoint',
      )
    const receiver = await listen()
    try {
      const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()]
      const url = new URL(server.authorization_endpoint)
      for (const [name, value] of Object.entries({
        ...parameters,
        response_type: 'code',
        client_id: client.client_id,
        redirect_uri: receiver.redirectUri,
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }))
        url.searchParams.set(name, value)
      const received = receiver.receive(signal)
      received.catch(() => undefined) // it is awaited below
      await open(url.href)
      const back = new URL(await received)
      // Without metadata the issuer is not known, so `iss` cannot be checked.
      if (found.isAssumed) back.searchParams.delete('iss')
      const answer = oauth.validateAuthResponse(server, client, back, state)
      const { redirectUri } = receiver
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        auth,
        answer,
        redirectUri,
        verifier,
        http,
      )
      return await oauth.processAuthorizationCodeResponse(server, client, response)
    } finally {
      await receiver.close?.()
    }
  },
}

async function withDeps<T>(call: FlowCall, run: (deps: FlowDeps) => Promise<T>): Promise<T> {
  const oauth = await import('oauth4webapi')
  const { found, options, scopes, send, signal } = call
  const { server } = found
  const { clientId, clientSecret, parameters } = options
  const isInsecure = [server.token_endpoint, server.device_authorization_endpoint].some(isLocalHttp)
  try {
    return await run({
      oauth,
      server,
      client: { client_id: clientId },
      auth: clientAuth(oauth, server, clientSecret),
      http: {
        signal,
        [oauth.allowInsecureRequests]: isInsecure,
        [oauth.customFetch]: async (url, { method, headers, body }) => {
          const request: GuardedRequest = {
            method,
            url,
            headers,
            body: String(body ?? ''),
            signal,
            isConfidential: true,
          }
          const { status, headers: received, text } = await send(request)
          const answer = await text()
          const content = found.isAssumed ? withoutIdToken(answer) : answer
          // Statuses such as 204 forbid even an empty body.
          return new Response(content === '' ? null : content, { status, headers: [...received.entries()] })
        },
      },
      parameters: { ...parameters, ...(scopes.length > 0 && { scope: scopes.join(' ') }) },
    })
  } catch (caught) {
    if (caught instanceof A2AError || caught instanceof TransportError) throw caught
    throw new A2AError('UNAUTHENTICATED', `No token from ${server.issuer}: ${messageOf(oauth, caught)}`, {
      cause: caught,
    })
  }
}

/** The library would check it against the issuer, which is not known. The client does not need the user's identity. */
function withoutIdToken(answer: string): string {
  try {
    const { id_token: _idToken, ...rest } = JSON.parse(answer) as Record<string, unknown> // other JSON values have no such member
    return JSON.stringify(rest)
  } catch {
    return answer
  }
}

function clientAuth(oauth: typeof OAuth, server: AuthorizationServer, secret: string | undefined): OAuth.ClientAuth {
  if (secret === undefined) return oauth.None()
  const methods = server.token_endpoint_auth_methods_supported
  const isPostOnly = methods?.includes('client_secret_post') && !methods.includes('client_secret_basic')
  return isPostOnly ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret)
}

/** Only authorization servers on this machine may be used without TLS. */
function isLocalHttp(url: string | undefined): boolean {
  if (url === undefined || !canParseUrl(url)) return false
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && classifyHost(hostname) === 'loopback'
}

function messageOf(oauth: typeof OAuth, caught: unknown): string {
  if (caught instanceof oauth.ResponseBodyError || caught instanceof oauth.AuthorizationResponseError) {
    const { error, error_description: description } = caught
    return description ? `${error} (${description.slice(0, 200)})` : error
  }
  return caught instanceof Error ? caught.message : 'unknown error'
}
