/** Card signatures between Dragoman and the official SDK, in both directions, with keys fetched over HTTP. */
import type { AddressInfo } from 'node:net'
import { generateAgentCardSignature, AgentCard as SdkCard, verifyAgentCardSignature } from 'a2a-sdk-v1'
import { ClientFactory, JsonRpcTransportFactory } from 'a2a-sdk-v1/client'
import { DefaultRequestHandler, InMemoryTaskStore } from 'a2a-sdk-v1/server'
import { agentCardHandler, jsonRpcHandler } from 'a2a-sdk-v1/server/express'
import { agent, apiKey, type ServeOptions, serve } from 'dragoman'
import { connect } from 'dragoman/client'
import { createSigner, generateSigningKey } from 'dragoman/server'
import express from 'express'
import { importJWK, type JWK } from 'jose'
import { describe, expect, it, vi } from 'vitest'

const full = { name: 'Echo', description: 'Repeats', version: '1.0.0' }
const echo = agent(full, async function* ({ text }) {
  yield text
})

// The SDK logs every invalid signature.
vi.spyOn(console, 'debug').mockImplementation(() => {})

/** Fetches the key from the URL in the signature, as the SDK's documentation shows. */
const sdkVerifier = verifyAgentCardSignature(async (kid, jku) => {
  const { keys } = (await (await fetch(jku ?? '')).json()) as { keys: JWK[] }
  const key = keys.find((each) => each.kid === kid)
  if (!key) throw new Error(`There is no key ${kid}`)
  return (await importJWK(key)) as Parameters<typeof importJWK>[0] & object
})

/** Verifies our card with the official client. */
async function sdkJudges(options: ServeOptions): Promise<'good' | 'not good'> {
  await using served = await serve(echo, options)
  const client = await new ClientFactory({ transports: [new JsonRpcTransportFactory()] }).createFromUrl(served.url)
  try {
    const card = await client.getAgentCard()
    await sdkVerifier(card)
    return 'good'
  } catch {
    return 'not good'
  }
}

describe('our signatures, by the official verifier (R-SIGN-7)', () => {
  const secret = [apiKey('k')]

  it.each(['ES256', 'RS256', 'EdDSA'] as const)('are valid with %s', async (alg) => {
    expect(await sdkJudges({ advanced: { signing: { keys: [await generateSigningKey({ alg })] } } })).toBe('good')
  })

  it.each(['v1', 'hybrid'] as const)('are valid on a card in the form %s', async (card) => {
    expect(await sdkJudges({ advanced: { signing: { keys: [await generateSigningKey()] }, card } })).toBe('good')
  })

  it('of the protocol are invalid if a member is empty; those of its own profile are valid', async () => {
    const keys = [await generateSigningKey()]
    expect(await sdkJudges({ auth: secret, advanced: { signing: { keys } } })).toBe('not good')
    expect(await sdkJudges({ auth: secret, advanced: { signing: { keys, profiles: ['sdk'] } } })).toBe('good')
    expect(await sdkJudges({ auth: secret, advanced: { signing: { keys, profiles: ['spec', 'sdk'] } } })).toBe('good')
  })

  it('follow the specification for our client, also beside a signature for the SDK', async () => {
    const signing = { keys: [await generateSigningKey()], profiles: ['sdk', 'spec'] as const }
    await using served = await serve(echo, { auth: secret, advanced: { signing } })
    await using client = await connect(served.url, { signatures: 'require' })
    expect(client.signature).toMatchObject({ state: 'valid', form: 'strict' })
  })
})

/** The official server with the official signer. The test publishes its keys. */
async function serveSdk(rest: object): Promise<{ readonly url: string } & AsyncDisposable> {
  const jwk = await generateSigningKey()
  const app = express()
  const server = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const card = SdkCard.fromJSON({
    ...full,
    supportedInterfaces: [{ url: `${url}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'echo', name: 'Echo', description: 'Repeats', tags: ['echo'] }],
    ...rest,
  })
  const header = { alg: 'ES256', kid: jwk.kid ?? '', typ: 'JOSE', jku: `${url}/keys.json` }
  const sign = generateAgentCardSignature(jwk, header)
  // Its handler writes the card unchanged, so the test passes the protocol's form.
  const signed = async () => SdkCard.toJSON(await sign(card)) as SdkCard
  const executor = { execute: async () => {}, cancelTask: async () => {} }
  const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor as never)
  const { keys } = (await createSigner({ keys: [jwk] })).jwks()
  app.get('/keys.json', (_, response) => void response.json({ keys }))
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: signed }))
  app.use(
    '/',
    jsonRpcHandler({ requestHandler: handler, userBuilder: async () => ({ isAuthenticated: false, userName: '' }) }),
  )
  return { url, [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) }
}

describe('the official signatures, by our verifier', () => {
  it('follow the specification if no member is empty', async () => {
    await using server = await serveSdk({})
    await using client = await connect(server.url, { signatures: 'require' })
    expect(client.signature).toMatchObject({ state: 'valid', form: 'strict' })
  })

  it('are valid in the SDK’s own form, and distinguished', async () => {
    await using server = await serveSdk({
      securityRequirements: [{ schemes: { key: {} } }],
      skills: [{ id: 'echo', name: 'Echo', description: '', tags: [] }],
    })
    const warnings: string[] = []
    await using client = await connect(server.url, {
      signatures: 'require',
      onWarning: ({ message }) => void warnings.push(message),
    })
    expect(client.signature).toMatchObject({ state: 'valid', form: 'stripped' })
    expect(warnings).toContain('The card is signed in the form stripped')
    await expect(connect(server.url, { signatures: { policy: 'require', forms: ['strict'] } })).rejects.toThrow(
      'A signed card is required',
    )
  })

  it('are invalid if they omit the security members, as the SDK’s signer does', async () => {
    await using server = await serveSdk({
      securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' } } },
    })
    await using client = await connect(server.url)
    expect(client.signature).toMatchObject({
      state: 'invalid',
      reason: 'The signature does not cover every field of the card',
    })
  })
})
