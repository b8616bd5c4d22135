/** Requests with a valid envelope and invalid content: the error has the code and the path of the invalid field. */
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { message, type Peer, send, startPeer } from './peer.js'

// One server for the whole table: no case may affect the next.
let peer: Peer

beforeAll(async () => {
  peer = await startPeer()
})

afterAll(async () => {
  await peer.assertAlive()
  await peer[Symbol.asyncDispose]()
})

const part = (value: unknown) => ({ message: { ...message('x'), parts: [{ text: 'good' }, value] } })
const withMessage = (more: object) => ({ message: { ...message('x'), ...more } })
const configured = (configuration: unknown) => ({ ...send('x'), configuration })
const hook = (config: unknown) => configured({ taskPushNotificationConfig: config })

const faults: readonly [name: string, params: unknown, field: string][] = [
  ['no message', {}, 'message'],
  ['a message that is null', { message: null }, 'message'],
  ['a message that is a string', { message: 'hello' }, 'message'],
  ['a message that is an array', { message: [message('x')] }, 'message'],
  ['no messageId', withMessage({ messageId: undefined }), 'message.messageId'],
  ['an empty messageId', withMessage({ messageId: '' }), 'message.messageId'],
  ['a numeric messageId', withMessage({ messageId: 7 }), 'message.messageId'],
  ['no role', withMessage({ role: undefined }), 'message.role'],
  ['an unknown role', withMessage({ role: 'ROLE_KING' }), 'message.role'],
  ['a role of another version', withMessage({ role: 'user' }), 'message.role'],
  ['the unspecified role', withMessage({ role: 'ROLE_UNSPECIFIED' }), 'message.role'],
  ['the number of no role', withMessage({ role: 99 }), 'message.role'],
  ['a negative role', withMessage({ role: -1 }), 'message.role'],
  ['half a role', withMessage({ role: 1.5 }), 'message.role'],
  ['a role that is an inherited name', withMessage({ role: 'constructor' }), 'message.role'],
  ['no parts', withMessage({ parts: undefined }), 'message.parts'],
  ['empty parts', withMessage({ parts: [] }), 'message.parts'],
  ['parts that are an object', withMessage({ parts: { 0: { text: 'x' }, length: 1 } }), 'message.parts'],
  ['parts that are a string', withMessage({ parts: 'x' }), 'message.parts'],
  ['a part that is null', part(null), 'message.parts[1]'],
  ['a part that is a string', part('x'), 'message.parts[1]'],
  ['a part that is an array', part([]), 'message.parts[1]'],
  ['a part without content', part({}), 'message.parts[1]'],
  ['a part of unknown content', part({ kind: 'text', content: 'x' }), 'message.parts[1]'],
  ['a part with two contents', part({ text: 'x', data: null }), 'message.parts[1]'],
  ['a text that is a number', part({ text: 5 }), 'message.parts[1].text'],
  ['a text that is an object', part({ text: { toString: 'x' } }), 'message.parts[1].text'],
  ['raw that is not base64', part({ raw: 'ö!' }), 'message.parts[1].raw'],
  ['raw of an impossible length', part({ raw: 'abcde' }), 'message.parts[1].raw'],
  ['raw with padding inside', part({ raw: 'ab=c' }), 'message.parts[1].raw'],
  ['raw that is an array', part({ raw: [1, 2] }), 'message.parts[1].raw'],
  ['a url that is a number', part({ url: 5 }), 'message.parts[1].url'],
  ['a filename that is an object', part({ text: 'x', filename: {} }), 'message.parts[1].filename'],
  ['a mediaType that is an array', part({ text: 'x', mediaType: ['a/b'] }), 'message.parts[1].mediaType'],
  ['metadata of a part that is an array', part({ text: 'x', metadata: [] }), 'message.parts[1].metadata'],
  ['a contextId that is a number', withMessage({ contextId: 5 }), 'message.contextId'],
  ['a taskId that is an object', withMessage({ taskId: {} }), 'message.taskId'],
  ['metadata of a message that is a string', withMessage({ metadata: 'x' }), 'message.metadata'],
  ['extensions that are a string', withMessage({ extensions: 'x' }), 'message.extensions'],
  ['an extension that is a number', withMessage({ extensions: ['a', 5] }), 'message.extensions[1]'],
  ['a reference that is null', withMessage({ referenceTaskIds: [null] }), 'message.referenceTaskIds[0]'],
  ['metadata that is a number', { ...send('x'), metadata: 5 }, 'metadata'],
  ['a tenant that is an object', { ...send('x'), tenant: {} }, 'tenant'],
  ['a configuration that is a string', configured('fast'), 'configuration'],
  ['a fraction of history', configured({ historyLength: 1.5 }), 'configuration.historyLength'],
  ['negative history', configured({ historyLength: -1 }), 'configuration.historyLength'],
  ['more history than an int32', configured({ historyLength: 2_147_483_648 }), 'configuration.historyLength'],
  ['history as a word', configured({ historyLength: 'all' }), 'configuration.historyLength'],
  ['history as an object', configured({ historyLength: { valueOf: 1 } }), 'configuration.historyLength'],
  ['returnImmediately as a word', configured({ returnImmediately: 'yes' }), 'configuration.returnImmediately'],
  ['returnImmediately as a number', configured({ returnImmediately: 1 }), 'configuration.returnImmediately'],
  ['output modes as a string', configured({ acceptedOutputModes: 'text/plain' }), 'configuration.acceptedOutputModes'],
  [
    'an output mode that is an object',
    configured({ acceptedOutputModes: [{}] }),
    'configuration.acceptedOutputModes[0]',
  ],
  ['a webhook that is a string', hook('https://x.example'), 'configuration.taskPushNotificationConfig'],
  ['a webhook without url', hook({}), 'configuration.taskPushNotificationConfig.url'],
  ['a webhook with an invalid URL', hook({ url: 'nowhere' }), 'configuration.taskPushNotificationConfig.url'],
  ['a webhook to a script', hook({ url: 'javascript:alert(1)' }), 'configuration.taskPushNotificationConfig.url'],
  ['a webhook to a file', hook({ url: 'file:///etc/hosts' }), 'configuration.taskPushNotificationConfig.url'],
  [
    'a webhook with half a credential',
    hook({ url: 'https://x.example', authentication: {} }),
    'configuration.taskPushNotificationConfig.authentication.scheme',
  ],
]

describe('sends', () => {
  it.each(faults)(proves(['R-JSON-5', 'R-ERR-3'], '%s is named by its path'), async (_, params, field) => {
    for (const method of ['SendMessage', 'SendStreamingMessage']) assertFault(await peer.call(method, params), field)
    for (const path of ['/message:send', '/message:stream']) assertFault(await peer.rest('POST', path, params), field)
  })

  it.each<[name: string, params: string, field: string]>([
    ['an infinite number in metadata', metadata('{"deep":[0,1e999]}'), 'metadata.deep[1]'],
    ['a minus infinite number in metadata', metadata('{"x":-1e999}'), 'metadata.x'],
    ['an infinite number in a data part', data('{"n":{"m":1e999}}'), 'message.parts[0].data.n.m'],
    ['an infinite history length', history('1e999'), 'configuration.historyLength'],
    ['a history length of -1e999', history('-1e999'), 'configuration.historyLength'],
    ['a history length of 1e308', history('1e308'), 'configuration.historyLength'],
    ['a history length of twenty digits', history('99999999999999999999'), 'configuration.historyLength'],
  ])(proves(['R-JSON-10', 'R-JSON-12'], '%s is refused'), async (_, params, field) => {
    assertFault(await peer.call('SendMessage', params), field)
    assertFault(await peer.rest('POST', '/message:send', params), field)
  })

  it.each<[string, unknown]>([
    ['an array', []],
    ['a string', '"x"'],
    ['a number', 5],
    ['null', null],
    ['true', true],
  ])(proves('R-RPC-2', 'params that are %s are invalid params'), async (_, params) => {
    for (const method of [
      'SendMessage',
      'GetTask',
      'CancelTask',
      'SubscribeToTask',
      'ListTasks',
      'GetTaskPushNotificationConfig',
    ]) {
      const { error } = await peer.call(method, params)
      assert.equal(error?.reason, 'INVALID_PARAMS', method)
    }
    const { error } = await peer.rest('POST', '/message:send', params)
    assert.equal(error?.reason, 'INVALID_PARAMS')
  })

  it('reports several faults, up to a limit', async () => {
    const parts = Array.from({ length: 20_000 }, () => ({ text: 5 }))
    const { error, text } = await peer.call('SendMessage', { message: { parts } })
    assert.equal(error?.reason, 'INVALID_PARAMS')
    assert.deepEqual(error.fields.slice(0, 3), ['message.messageId', 'message.role', 'message.parts[0].text'])
    assert.ok(error.fields.length <= 100 && text.length < 20_000)
  })
})

describe('unknown tasks', () => {
  const ids = [
    'nope',
    '0',
    '-1',
    '../etc',
    'x'.repeat(2000),
    '\0',
    '\ud800',
    '😀',
    '%',
    "' OR 1=1 --",
    '__proto__',
    'constructor',
    '[object Object]',
  ]

  it.each(ids)(proves(['R-GET-1', 'R-CANCEL-3', 'R-SUB-3', 'R-PUSH-5'], 'no method finds %j'), async (id) => {
    const calls: readonly [string, object][] = [
      ['GetTask', { id }],
      ['CancelTask', { id }],
      ['SubscribeToTask', { id }],
      ['SendMessage', { message: message('x', { taskId: id }) }],
      ['CreateTaskPushNotificationConfig', { taskId: id, url: 'https://x.example' }],
      ['GetTaskPushNotificationConfig', { taskId: id, id: 'x' }],
      ['ListTaskPushNotificationConfigs', { taskId: id }],
      ['DeleteTaskPushNotificationConfig', { taskId: id, id: 'x' }],
    ]
    for (const [method, params] of calls) {
      const { error } = await peer.call(method, params)
      assert.equal(error?.reason, 'TASK_NOT_FOUND', method)
    }
  })

  it.each<[method: string, params: object, field: string]>([
    ['GetTask', {}, 'id'],
    ['GetTask', { id: '' }, 'id'],
    ['GetTask', { id: 5 }, 'id'],
    ['GetTask', { id: ['x'] }, 'id'],
    ['GetTask', { id: 'x', historyLength: -1 }, 'historyLength'],
    ['CancelTask', { id: null }, 'id'],
    ['CancelTask', { id: 'x', metadata: 'now' }, 'metadata'],
    ['SubscribeToTask', { id: {} }, 'id'],
    ['CreateTaskPushNotificationConfig', { url: 'https://x.example' }, 'taskId'],
    ['CreateTaskPushNotificationConfig', { taskId: 'x' }, 'url'],
    ['CreateTaskPushNotificationConfig', { taskId: 'x', url: 'gopher://x' }, 'url'],
    ['GetTaskPushNotificationConfig', { taskId: 'x' }, 'id'],
    ['ListTaskPushNotificationConfigs', { taskId: 'x', pageSize: -1 }, 'pageSize'],
    ['DeleteTaskPushNotificationConfig', { id: 'x' }, 'taskId'],
  ])(proves('R-ERR-8', '%s with %j is rejected before any lookup'), async (method, params, field) => {
    assertFault(await peer.call(method, params), field)
  })

  it(proves('R-TEN-3', 'a tenant that does not exist is not found'), async () => {
    for (const tenant of ['acme', '__proto__', '../acme']) {
      const { error } = await peer.call('ListTasks', { tenant })
      assert.equal(error?.reason, 'TASK_NOT_FOUND')
    }
  })
})

function assertFault({ error }: Awaited<ReturnType<Peer['call']>>, field: string): void {
  assert.equal(error?.reason, 'INVALID_PARAMS')
  assert.ok(error.fields.includes(field), `${field} is not among ${error.fields.join(', ')}`)
  assert.ok(error.message.includes(field), `${field} is not in ${JSON.stringify(error.message)}`)
}

const goodMessage = JSON.stringify(message('x'))

function metadata(json: string): string {
  return `{"message":${goodMessage},"metadata":${json}}`
}

function data(json: string): string {
  return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":${json}}]}}`
}

function history(json: string): string {
  return `{"message":${goodMessage},"configuration":{"historyLength":${json}}}`
}
