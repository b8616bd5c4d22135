import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DeliveryClaims } from '../signing/delivery-token.js'
import { createSigner, type Signer } from '../signing/signer.js'
import { generateSigningKey, signingAlgorithms } from '../signing/signing-key.js'
import { createPushReceiver, type PushReceiverOptions } from './push-receiver.js'

const status = { state: 'TASK_STATE_COMPLETED', timestamp: '2026-01-05T08:00:00.000Z' }
const body = JSON.stringify({ statusUpdate: { taskId: 't1', contextId: 'c1', status } })
const webhook = 'https://receiver.example/hook'
const nowSeconds = Math.floor(Date.now() / 1000)

let signer: Signer
let jwks: unknown
let jwksStatus = 200
const keyServer = createServer((_request, response) => response.writeHead(jwksStatus).end(JSON.stringify(jwks)))
let jwksUrl: string

beforeAll(async () => {
  signer = await createSigner({ keys: await Promise.all(signingAlgorithms.map((alg) => generateSigningKey({ alg }))) })
  jwks = signer.jwks()
  await new Promise<void>((resolve) => keyServer.listen(0, '127.0.0.1', resolve))
  jwksUrl = `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}/.well-known/jwks.json`
})
afterAll(() => keyServer.close())

async function sha256(text: string): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))).toString('hex')
}

async function claimsOf(rest: Partial<Record<keyof DeliveryClaims, unknown>> = {}) {
  const defaults: DeliveryClaims = {
    iss: 'https://agent.example/',
    aud: webhook,
    iat: nowSeconds,
    exp: nowSeconds + 300,
    jti: 'd1',
    taskId: 't1',
    request_body_sha256: await sha256(body),
  }
  return { ...defaults, ...rest }
}

const bearer = async (claims: object, by = signer) => ({ authorization: `Bearer ${await by.signJwt(claims as never)}` })

function post(headers: Record<string, string>, text = body): Request {
  return new Request(webhook, { method: 'POST', headers, body: text })
}

/** A receiver and the task ids of the deliveries that it reported. */
function receiver(options: Partial<PushReceiverOptions> = {}) {
  const delivered: string[] = []
  const receive = createPushReceiver({ jwksUrl, ...options, onDelivery: ({ taskId }) => void delivered.push(taskId) })
  return { delivered, statusOf: async (request: Request) => (await receive(request)).status }
}

describe('a receiver of signed deliveries (R-PDEL-9, RL-01-9)', () => {
  it.each(signingAlgorithms)('accepts deliveries that a published key signed with %s', async (alg) => {
    const own = await createSigner({ keys: [await generateSigningKey({ alg })] })
    jwks = own.jwks()
    const { delivered, statusOf } = receiver({ issuer: 'https://agent.example/', audience: webhook })
    expect(await statusOf(post(await bearer(await claimsOf(), own)))).toBe(200)
    expect(delivered).toEqual(['t1'])
    jwks = signer.jwks()
  })

  it('reads the token from its own header when the webhook has credentials', async () => {
    const { statusOf } = receiver()
    const token = await signer.signJwt((await claimsOf()) as never)
    expect(await statusOf(post({ authorization: 'Bearer other', 'x-a2a-delivery-token': token }))).toBe(200)
  })

  it('accepts a token with only the body hash and the time, as 0.1 senders create it', async () => {
    const { statusOf } = receiver()
    const claims = { iat: nowSeconds, request_body_sha256: await sha256(body) }
    expect(await statusOf(post(await bearer(claims)))).toBe(200)
  })

  it.each([
    ['no token', async () => ({})],
    ['no JWT', async () => ({ authorization: 'Bearer secret' })],
    ['another body', async () => await bearer(await claimsOf({ request_body_sha256: await sha256('{}') }))],
    ['no body', async () => await bearer(await claimsOf({ request_body_sha256: undefined }))],
    ['another task', async () => await bearer(await claimsOf({ taskId: 't2' }))],
    ['another issuer', async () => await bearer(await claimsOf({ iss: 'https://evil.example/' }))],
    ['another webhook', async () => await bearer(await claimsOf({ aud: 'https://other.example/hook' }))],
    ['an old token', async () => await bearer(await claimsOf({ iat: nowSeconds - 3600 }))],
    ['a token that is over', async () => await bearer(await claimsOf({ exp: nowSeconds - 60 }))],
    [
      'a token from the future',
      async () => await bearer(await claimsOf({ iat: nowSeconds + 3600, exp: nowSeconds + 7200 })),
    ],
    ['no time', async () => await bearer(await claimsOf({ iat: undefined }))],
    [
      'another key of the same name',
      async () => {
        const kid = signer.jwks().keys[0]?.kid ?? ''
        return await bearer(await claimsOf(), await createSigner({ keys: [{ key: await generateSigningKey(), kid }] }))
      },
    ],
    [
      'an unknown key',
      async () => await bearer(await claimsOf(), await createSigner({ keys: [await generateSigningKey()] })),
    ],
    [
      'the algorithm none',
      async () => {
        const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
        return { authorization: `Bearer ${part({ alg: 'none', typ: 'JWT' })}.${part(await claimsOf())}.` }
      },
    ],
  ])('rejects %s', async (_, headers) => {
    const { delivered, statusOf } = receiver({ issuer: 'https://agent.example/', audience: webhook })
    expect(await statusOf(post(await headers()))).toBe(401)
    expect(delivered).toEqual([])
  })

  it.each([
    [
      { iss: 'http://127.0.0.1:8001' },
      'The issuer of the signed token is http://127.0.0.1:8001, expected http://localhost:8001',
    ],
    [
      { aud: 'https://other.example/' },
      `The audience of the signed token is https://other.example/, expected ${webhook}`,
    ],
    [{ iat: nowSeconds - 3600 }, expect.stringContaining('The signed token is invalid: "iat"')],
    [{ request_body_sha256: '0' }, 'The signed token is about another body'],
    [{ taskId: 't2' }, 'The signed token is about task t2, the body about task t1'],
  ])('reports the reason when it rejects %j', async (claims, reason) => {
    const reasons: string[] = []
    const onRefused = (each: string) => void reasons.push(each)
    const { statusOf } = receiver({ issuer: 'http://localhost:8001', audience: webhook, onRefused })
    expect(await statusOf(post(await bearer(await claimsOf({ iss: 'http://localhost:8001', ...claims }))))).toBe(401)
    expect(reasons).toEqual([reason])
  })

  it('reports a replayed delivery only once, also under another delivery id', async () => {
    const { delivered, statusOf } = receiver()
    const headers = await bearer(await claimsOf())
    for (const id of ['a', 'a', 'b', 'c'])
      expect(await statusOf(post({ ...headers, 'x-a2a-delivery-id': id }))).toBe(200)
    expect(delivered).toEqual(['t1'])
    const other = body.replace('COMPLETED', 'FAILED')
    const next = await bearer(await claimsOf({ request_body_sha256: await sha256(other) }))
    expect(await statusOf(post(next, other))).toBe(200)
    expect(delivered).toEqual(['t1', 't1'])
  })

  it('asks the sender to retry while its keys are unreachable', async () => {
    const { delivered, statusOf } = receiver()
    const headers = await bearer(await claimsOf())
    jwksStatus = 500
    expect(await statusOf(post(headers))).toBe(503)
    jwksStatus = 200
    expect(await statusOf(post(headers))).toBe(200)
    expect(delivered).toEqual(['t1'])
    expect(await receiver({ jwksUrl: 'http://127.0.0.1:1/jwks.json' }).statusOf(post(headers))).toBe(503)
  })
})
