/** An authorization server for tests: four grants, metadata, PKCE, rotation of refresh tokens. */
import { createHash } from 'node:crypto'
import { json, type Seen, serveHttp, type TestServer } from '../http-server.fixture.js'

export interface AuthorizationServer extends TestServer {
  /** Issued tokens, newest last. */
  readonly tokens: string[]
  /** Token requests, in order. */
  readonly grants: URLSearchParams[]
  /** Approves the device code. */
  approve(): void
  /** Revokes all refresh tokens. */
  revokeRefreshTokens(): void
}

export interface ServerSettings {
  readonly expiresIn?: number
  readonly hasRefreshTokens?: boolean
  readonly issuer?: (origin: string) => string
  readonly delayMs?: number
}

export async function serveTokens(settings: ServerSettings = {}): Promise<AuthorizationServer> {
  const { expiresIn = 3600, hasRefreshTokens = false, delayMs = 0 } = settings
  const tokens: string[] = []
  const grants: URLSearchParams[] = []
  const challenges = new Map<string, { challenge: string; redirectUri: string }>()
  const refreshTokens = new Set<string>()
  let isApproved = false
  const server = await serveHttp((seen, response) => {
    const url = new URL(seen.path, server.origin)
    const routes: Record<string, () => unknown> = {
      '/.well-known/openid-configuration': () => json(response, metadata()),
      '/authorize': () => {
        const code = `code-${challenges.size}`
        const redirectUri = url.searchParams.get('redirect_uri') ?? ''
        challenges.set(code, { challenge: url.searchParams.get('code_challenge') ?? '', redirectUri })
        const back = new URL(redirectUri)
        back.searchParams.set('code', code)
        back.searchParams.set('state', url.searchParams.get('state') ?? '')
        response.writeHead(302, { location: back.href }).end()
      },
      '/device': () =>
        json(response, {
          device_code: 'd',
          user_code: 'ABCD',
          verification_uri: `${server.origin}/enter`,
          expires_in: 60,
          interval: 0.02,
        }),
      '/token': () => setTimeout(() => grant(seen), delayMs),
    }
    const grant = ({ body, headers }: Seen) => {
      const form = new URLSearchParams(body)
      grants.push(form)
      const error = refusal(form, headers.authorization)
      if (error) return json(response, { error, error_description: 'for a test' }, {}, 400)
      const token = `token-${tokens.length}`
      tokens.push(token)
      const refreshToken = `refresh-${tokens.length}`
      if (hasRefreshTokens) refreshTokens.add(refreshToken)
      return json(response, {
        access_token: token,
        token_type: 'Bearer',
        expires_in: expiresIn,
        ...(hasRefreshTokens && { refresh_token: refreshToken }),
      })
    }
    const route = routes[url.pathname]
    if (route) route()
    else response.writeHead(404).end()
  })
  const metadata = () => ({
    issuer: settings.issuer?.(server.origin) ?? server.origin,
    token_endpoint: `${server.origin}/token`,
    authorization_endpoint: `${server.origin}/authorize`,
    device_authorization_endpoint: `${server.origin}/device`,
  })
  function refusal(form: URLSearchParams, authorization: string | undefined): string | undefined {
    switch (form.get('grant_type')) {
      case 'client_credentials':
        return authorization === `Basic ${btoa('me:s3cret')}` ? undefined : 'invalid_client'
      case 'refresh_token':
        return refreshTokens.delete(form.get('refresh_token') ?? '') ? undefined : 'invalid_grant'
      case 'authorization_code': {
        const known = challenges.get(form.get('code') ?? '')
        const challenge = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url')
        return known?.challenge === challenge && known.redirectUri === form.get('redirect_uri')
          ? undefined
          : 'invalid_grant'
      }
      default:
        return isApproved ? undefined : 'authorization_pending'
    }
  }
  return Object.assign(server, {
    tokens,
    grants,
    approve() {
      isApproved = true
    },
    revokeRefreshTokens: () => refreshTokens.clear(),
  })
}
