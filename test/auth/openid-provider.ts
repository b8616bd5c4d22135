/** A real OpenID provider on loopback. Tests can rotate its keys and make it unavailable. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose'

export const audience = 'https://agent.example'

export interface OpenIdProvider extends AsyncDisposable {
  readonly issuer: string
  /** The provider's private signing key. */
  readonly key: JWK
  /** Received requests, by path. */
  readonly requests: string[]
  /** A token from the token endpoint, with client credentials. */
  token(options?: { client?: string; scope?: string; resource?: string }): Promise<string>
  /** A token with any claims, signed with the provider's key. */
  sign(
    claims?: Readonly<Record<string, unknown>>,
    header?: { readonly alg?: string; readonly kid?: string; readonly typ?: string },
  ): Promise<string>
  /** Replaces the signing key; the old one is no longer published. */
  rotate(): Promise<void>
  /** Makes the provider unavailable, or available again. */
  isDown: boolean
}

const clients = ['alice', 'bob']
const clock = () => Math.floor(Date.now() / 1000)

export interface ProviderOptions {
  readonly ttlSeconds?: number
  /** Redirect addresses of the client `web`, through which users log in under any name. */
  readonly redirectUris?: readonly string[]
}

export async function openIdProvider(options: ProviderOptions = {}): Promise<OpenIdProvider> {
  // @ts-expect-error: the package has no types. It logs a warning about the runtime when it is loaded.
  const { default: Provider } = await import('oidc-provider')
  let answer: (request: IncomingMessage, response: ServerResponse) => void = () => undefined
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    if (provider.isDown) request.socket.destroy()
    else answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let key: JWK = {}
  const rotate = async () => {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true })
    key = { ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), alg: 'RS256', use: 'sig' }
    answer = new Provider(issuer, configuration(key, options)).callback()
  }
  const provider: OpenIdProvider = {
    issuer,
    requests,
    isDown: false,
    rotate,
    get key() {
      return key
    },
    async token({ client = 'alice', scope = 'agent:call', resource = audience } = {}) {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${client}:secret-of-${client}`)}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', scope, resource }),
      })
      const { access_token: token, ...rest } = (await response.json()) as { access_token?: string }
      if (!token) throw new Error(`No token: ${JSON.stringify(rest)}`)
      return token
    },
    async sign(claims = {}, header = {}) {
      const usual = { iss: issuer, sub: 'alice', aud: audience, iat: clock(), exp: clock() + 600 }
      return await new SignJWT({ ...usual, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: String(key.kid), ...header })
        .sign(await importJWK(key, 'RS256'))
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  await rotate()
  return provider
}

function configuration(key: JWK, { ttlSeconds = 600, redirectUris = [] }: ProviderOptions): object {
  const programs = clients.map((id) => ({
    client_id: id,
    client_secret: `secret-of-${id}`,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
  }))
  const web = {
    client_id: 'web',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
    redirect_uris: redirectUris,
  }
  const isForPeople = redirectUris.length > 0
  return {
    clients: isForPeople ? [...programs, web] : programs,
    jwks: { keys: [key] },
    scopes: ['agent:call', 'agent:admin'],
    features: {
      devInteractions: { enabled: isForPeople },
      deviceFlow: { enabled: isForPeople },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: 'agent:call agent:admin',
          audience: resource,
          accessTokenTTL: ttlSeconds,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  }
}
