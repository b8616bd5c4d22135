/** Makes the same call over HTTP and over gRPC, with the same credentials and the same form of result. */
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { fileURLToPath } from 'node:url'
import { Client, credentials, Metadata, type MethodDefinition, type ServiceError, status } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { agent, type Caller } from 'dragoman'

/** Responds with the caller. */
export const mirror = agent('Mirror', async function* ({ caller }) {
  yield JSON.stringify(caller)
})

export interface CallOutcome {
  /** Present if the call was accepted. */
  readonly caller?: Caller
  /** `UNAUTHENTICATED`, `PERMISSION_DENIED`, `UNAVAILABLE`… if it was rejected. */
  readonly refused?: string
  readonly challenge?: string | undefined
}

export interface Presented {
  readonly headers?: Readonly<Record<string, string>>
  /** A client certificate, and the authority of the server's certificate. */
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string }
  readonly metadata?: Readonly<Record<string, string>>
}

/** Sends a message; `metadata` is the message's. */
export type CallWith = (url: string, presented?: Presented) => Promise<CallOutcome>

const names: Readonly<Record<number, string>> = { 401: 'UNAUTHENTICATED', 403: 'PERMISSION_DENIED', 503: 'UNAVAILABLE' }

const overHttp: CallWith = async (url, { headers, tls, metadata } = {}) => {
  const answer = await new Promise<string | CallOutcome>((resolve, reject) => {
    const request = (tls ? httpsRequest : httpRequest)(
      `${url}message:send`,
      { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, ...tls },
      (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += String(chunk)
        })
        response.on('end', () => {
          const { statusCode = 0, headers: answered } = response
          if (statusCode === 200) resolve(text)
          else resolve({ refused: names[statusCode] ?? String(statusCode), challenge: answered['www-authenticate'] })
        })
      },
    )
    request.on('error', reject)
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'who am I?' }], ...(metadata && { metadata }) }
    request.end(JSON.stringify({ message }))
  })
  return typeof answer === 'string' ? { caller: callerIn(JSON.parse(answer)) } : answer
}

const proto = fileURLToPath(new URL('../../proto/a2a_v1.proto', import.meta.url))
type Json = Record<string, unknown>
const service = loadSync(proto, { enums: String, defaults: false })['lf.a2a.v1.A2AService'] as Record<
  string,
  MethodDefinition<Json, Json>
>

const overGrpc: CallWith = async (url, { headers = {}, tls, metadata } = {}) => {
  const { path, requestSerialize, responseDeserialize } = service.SendMessage as MethodDefinition<Json, Json> // the service has this method
  const channel = tls
    ? credentials.createSsl(bytes(tls.ca), bytes(tls.key) ?? null, bytes(tls.cert) ?? null)
    : credentials.createInsecure()
  const client = new Client(new URL(url).host, channel)
  const sent = new Metadata()
  for (const [name, value] of Object.entries(headers)) sent.set(name, value)
  const fields = Object.entries(metadata ?? {}).map(([name, value]) => [name, { stringValue: value }])
  const message = {
    messageId: 'm',
    role: 'ROLE_USER',
    parts: [{ text: 'who am I?' }],
    ...(metadata && { metadata: { fields: Object.fromEntries(fields) } }),
  }
  try {
    const answer = await new Promise<Json | CallOutcome>((resolve) => {
      const done = (error: ServiceError | null, given: Json = {}) => {
        if (!error) return resolve(given)
        const challenge = error.metadata.get('www-authenticate')[0]
        return resolve({
          refused: status[error.code],
          challenge: challenge === undefined ? undefined : String(challenge),
        })
      }
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { message }, sent, done)
    })
    return 'refused' in answer ? (answer as CallOutcome) : { caller: callerIn(answer) }
  } finally {
    client.close()
  }
}

function bytes(pem: string | undefined): Buffer | undefined {
  return pem === undefined ? undefined : Buffer.from(pem)
}

function callerIn(answer: unknown): Caller {
  const { task } = answer as { task: { artifacts: { parts: { text: string }[] }[] } }
  return JSON.parse(task.artifacts[0]?.parts.map(({ text }) => text).join('') ?? '') as Caller
}

export const bindings: readonly (readonly [name: string, callWith: CallWith])[] = [
  ['HTTP', overHttp],
  ['gRPC', overGrpc],
]

export function bearing(token: string): Presented {
  return { headers: { authorization: `Bearer ${token}` } }
}
