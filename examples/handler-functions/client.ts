// Calls the agent as a client of the Go library, as a v1.0 client and as a 0.3 client, and checks the answers.
import assert from 'node:assert/strict'
import { start } from './agent.ts'

const served = await start({ allowWebhooks: ['127.0.0.1'] })

interface RpcResponse {
  readonly result?: {
    readonly id?: string
    readonly status?: { readonly state: string }
    readonly metadata?: { readonly reads?: number }
    readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[]
    readonly token?: string
  }
  readonly error?: { readonly code: number }
}

async function post(method: string, params: object, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(served.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return await response.text()
}

async function rpc(...request: Parameters<typeof post>): Promise<RpcResponse> {
  return JSON.parse(await post(...request))
}

try {
  // The card function.
  const card: unknown = await (await fetch(new URL('/.well-known/agent.json', served.url))).json()
  assert(typeof card === 'object' && card !== null && 'description' in card)
  assert.equal(card.description, 'Writes reports')

  // The Go library's client: tasks/send with a client-supplied id, or without one; tasks/get finds the stored task.
  const message = { role: 'user', parts: [{ type: 'text', text: 'owls' }] }
  const sent = await rpc('tasks/send', { id: 'job-1', message })
  assert.equal(sent.result?.status?.state, 'completed')
  const read = await rpc('tasks/get', { id: 'job-1' })
  assert.deepEqual(read.result?.metadata, { reads: 1 })
  assert.equal(read.result?.artifacts?.[0]?.parts[0]?.text, 'Report on owls')
  const { result: made } = await rpc('tasks/send', { message })
  assert(made?.id)
  assert.equal((await rpc('tasks/get', { id: made.id })).result?.id, made.id)

  // tasks/sendSubscribe has a separate function, whose updates are in the stream.
  const stream = await post('tasks/sendSubscribe', { id: 'job-2', message })
  assert.match(stream, /Reading[\s\S]*1\. owls[\s\S]*Report on owls[\s\S]*completed/)

  // Webhooks: the server has stored the returned config.
  const pushNotificationConfig = { url: 'http://127.0.0.1:9/hook' }
  const set = await rpc('tasks/pushNotification/set', { id: 'job-1', pushNotificationConfig })
  assert.equal(set.result?.token, 'reports')
  assert.deepEqual((await rpc('tasks/pushNotification/get', { id: 'job-1' })).result, pushNotificationConfig)

  // A v1.0 client reads the same task through the same function.
  const again = await rpc('GetTask', { id: 'job-1' }, { 'a2a-version': '1.0' })
  assert.equal(again.result?.metadata?.reads, 3)

  // A 0.3 client may not cancel without a reason.
  const refused = await rpc('tasks/cancel', { id: 'job-1' }, { 'a2a-version': '0.3' })
  assert.equal(refused.error?.code, -32002)
  console.log('Three dialects went through the same handler functions.')
} finally {
  await served.close({ deadlineMs: 0 })
}
