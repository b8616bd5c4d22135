// Calls the agent as a v1.0 client, as a 0.3 client and as a client of the Go library, and checks the answers.
import assert from 'node:assert/strict'
import { start } from './agent.js'

const served = await start()

/**
 * @param {string} path
 * @param {string} method
 * @param {object} params
 * @returns {Promise<any>} whatever comes back: it is what we are here to check
 */
async function rpc(path, method, params, headers = {}) {
  const response = await fetch(new URL(path, served.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  return await response.json()
}

try {
  // The Go library's client: tasks/send with an id of its own, then tasks/get.
  const message = { role: 'user', parts: [{ type: 'text', text: 'owls' }] }
  const sent = await rpc('/go', 'tasks/send', { id: 'job-1', message })
  assert.equal(sent.result.status.state, 'completed')
  const read = await rpc('/go', 'tasks/get', { id: 'job-1' })
  assert.deepEqual(read.result.metadata, { reads: 1, askedIn: 'v0.1-go' })

  // A v1.0 client reads the same task through the same function.
  const v1 = { 'a2a-version': '1.0' }
  const again = await rpc('/', 'GetTask', { id: 'job-1' }, v1)
  assert.deepEqual(again.result.metadata, { reads: 2, askedIn: 'v1' })

  // A 0.3 client may not cancel without a reason, and may with one.
  const slow = await rpc('/', 'message/send', {
    message: { kind: 'message', messageId: 'm1', role: 'user', parts: [{ kind: 'text', text: 'slowly' }] },
    configuration: { blocking: false },
  })
  const refused = await rpc('/', 'tasks/cancel', { id: slow.result.id })
  assert.equal(refused.error.code, -32002)
  const canceled = await rpc('/', 'tasks/cancel', { id: slow.result.id, metadata: { reason: 'changed my mind' } })
  assert.equal(canceled.result.status.state, 'canceled')

  // And a ping never reaches the engine.
  const ping = { messageId: 'm2', role: 'ROLE_USER', parts: [{ text: 'ping' }] }
  const pong = await rpc('/', 'SendMessage', { message: ping }, v1)
  assert.equal(pong.result.message.parts[0].text, 'pong')
  console.log('Three dialects went through the same handler functions.')
} finally {
  await served.close({ deadlineMs: 0 })
}
