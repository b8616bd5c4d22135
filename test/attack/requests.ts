/** Every operation on a task, as another caller would try it: by dialect and binding, independent of the client. */
import { status } from '@grpc/grpc-js'
import { type CallHeaders, v1Peer, v03Peer } from '../matrix/grpc-clients.js'

/** The response, as far as a caller can see it. */
export interface Seen {
  readonly status: number | string
  readonly headers: Readonly<Record<string, string | null>>
  readonly body: string
}

/** The attacked server and the credentials of the attacker. */
export interface Attack {
  readonly url: string
  readonly headers: CallHeaders
  /** The tenant: a prefix of every path, and a member of gRPC requests. */
  readonly tenant?: string
}

/** One attempt on the task `id` of any owner. */
export type Try = (attack: Attack, id: string) => Promise<Seen>

const hook = 'https://hooks.example/a'

function http(
  method: string,
  path: (id: string) => string,
  body?: (id: string) => object,
  more: CallHeaders = {},
): Try {
  return async ({ url, headers, tenant }, id) => {
    const prefix = tenant === undefined ? '' : `/${tenant}`
    const response = await fetch(new URL(`${prefix}${path(id)}`, url), {
      method,
      headers: { 'content-type': 'application/json', ...more, ...headers },
      ...(body && { body: JSON.stringify(body(id)) }),
    })
    return {
      status: response.status,
      headers: Object.fromEntries(
        ['content-type', 'www-authenticate', 'retry-after', 'cache-control'].map((name) => [
          name,
          response.headers.get(name),
        ]),
      ),
      body: await response.text(),
    }
  }
}

function rpc(path: string, method: string, params: (id: string) => object, more?: CallHeaders): Try {
  return http(
    'POST',
    () => path,
    (id) => ({ jsonrpc: '2.0', id: 1, method, params: params(id) }),
    more,
  )
}

function grpc(peerOf: typeof v1Peer, rpcName: string, request: (id: string) => object, isStream = false): Try {
  return async ({ url, headers, tenant }, id) => {
    const peer = peerOf(new URL(url).host, undefined, headers)
    const own = { ...request(id), ...(tenant !== undefined && { tenant }) }
    try {
      if (isStream) {
        for await (const event of peer.stream(rpcName, own)) return accepted(JSON.stringify(event))
        return accepted('nothing')
      }
      const answer = await peer.unary(rpcName, own, (message) => ({ text: JSON.stringify(message) }))
      if ('result' in answer) return accepted(answer.result.text ?? '')
      return { status: answer.refused.code, headers: {}, body: answer.refused.message }
    } catch (error) {
      const { code, details } = error as { code: number; details: string }
      return { status: status[code] ?? code, headers: {}, body: details }
    } finally {
      peer.close()
    }
  }
}

function accepted(body: string): Seen {
  return { status: 'OK', headers: {}, body }
}

const v1 = { 'a2a-version': '1.0' }
const parts = [{ text: 'mine now' }]
const v1Message = (taskId: string) => ({ message: { messageId: 'm', role: 'ROLE_USER', taskId, parts } })
const v03Message = (taskId: string) => ({
  message: { kind: 'message', messageId: 'm', role: 'user', taskId, parts: [{ kind: 'text', text: 'mine now' }] },
})
const v03ProtoMessage = (taskId: string) => ({ messageId: 'm', role: 'ROLE_USER', taskId, content: parts })
const restMessage = (taskId: string) => ({
  message: { messageId: 'm', role: 'user', taskId, parts: [{ type: 'text', text: 'mine now' }] },
})
const webhook = { pushNotificationConfig: { url: hook } }
const name = (id: string) => ({ name: `tasks/${id}` })
const byId = (id: string) => ({ id })

const v1Rpc = (method: string, params: (id: string) => object) => rpc('/', method, params, v1)
const v1Rest = (method: string, path: (id: string) => string, body?: (id: string) => object) =>
  http(method, path, body, v1)
const v1Grpc = (rpcName: string, request: (id: string) => object, isStream?: boolean) =>
  grpc(v1Peer, rpcName, request, isStream)
const v03Grpc = (rpcName: string, request: (id: string) => object, isStream?: boolean) =>
  grpc((authority, _channel, headers) => v03Peer(authority, headers), rpcName, request, isStream)

function v01(path: string): Readonly<Record<string, Try>> {
  return {
    get: rpc(path, 'tasks/get', byId),
    cancel: rpc(path, 'tasks/cancel', byId),
    subscribe: rpc(path, 'tasks/resubscribe', byId),
    'set a webhook': rpc(path, 'tasks/pushNotification/set', (id) => ({ id, ...webhook })),
    'get a webhook': rpc(path, 'tasks/pushNotification/get', byId),
  }
}

export const tries: Readonly<Record<string, Readonly<Record<string, Try>>>> = {
  'v1 over JSON-RPC': {
    get: v1Rpc('GetTask', byId),
    cancel: v1Rpc('CancelTask', byId),
    subscribe: v1Rpc('SubscribeToTask', byId),
    send: v1Rpc('SendMessage', v1Message),
    'send and stream': v1Rpc('SendStreamingMessage', v1Message),
    'set a webhook': v1Rpc('CreateTaskPushNotificationConfig', (taskId) => ({ taskId, id: 'one', url: hook })),
    'get a webhook': v1Rpc('GetTaskPushNotificationConfig', (taskId) => ({ taskId, id: 'one' })),
    'list webhooks': v1Rpc('ListTaskPushNotificationConfigs', (taskId) => ({ taskId })),
    'delete a webhook': v1Rpc('DeleteTaskPushNotificationConfig', (taskId) => ({ taskId, id: 'one' })),
  },
  'v1 over HTTP+JSON': {
    get: v1Rest('GET', (id) => `/tasks/${id}`),
    cancel: v1Rest(
      'POST',
      (id) => `/tasks/${id}:cancel`,
      () => ({}),
    ),
    subscribe: v1Rest('GET', (id) => `/tasks/${id}:subscribe`),
    send: v1Rest('POST', () => '/message:send', v1Message),
    'send and stream': v1Rest('POST', () => '/message:stream', v1Message),
    'set a webhook': v1Rest(
      'POST',
      (id) => `/tasks/${id}/pushNotificationConfigs`,
      () => ({ id: 'one', url: hook }),
    ),
    'get a webhook': v1Rest('GET', (id) => `/tasks/${id}/pushNotificationConfigs/one`),
    'list webhooks': v1Rest('GET', (id) => `/tasks/${id}/pushNotificationConfigs`),
    'delete a webhook': v1Rest('DELETE', (id) => `/tasks/${id}/pushNotificationConfigs/one`),
  },
  'v1 over gRPC': {
    get: v1Grpc('GetTask', byId),
    cancel: v1Grpc('CancelTask', byId),
    subscribe: v1Grpc('SubscribeToTask', byId, true),
    send: v1Grpc('SendMessage', v1Message),
    'send and stream': v1Grpc('SendStreamingMessage', v1Message, true),
    'set a webhook': v1Grpc('CreateTaskPushNotificationConfig', (taskId) => ({ taskId, id: 'one', url: hook })),
    'get a webhook': v1Grpc('GetTaskPushNotificationConfig', (taskId) => ({ taskId, id: 'one' })),
    'list webhooks': v1Grpc('ListTaskPushNotificationConfigs', (taskId) => ({ taskId })),
    'delete a webhook': v1Grpc('DeleteTaskPushNotificationConfig', (taskId) => ({ taskId, id: 'one' })),
  },
  'v0.3 over JSON-RPC': {
    get: rpc('/', 'tasks/get', byId),
    cancel: rpc('/', 'tasks/cancel', byId),
    subscribe: rpc('/', 'tasks/resubscribe', byId),
    send: rpc('/', 'message/send', v03Message),
    'send and stream': rpc('/', 'message/stream', v03Message),
    'set a webhook': rpc('/', 'tasks/pushNotificationConfig/set', (taskId) => ({ taskId, ...webhook })),
    'get a webhook': rpc('/', 'tasks/pushNotificationConfig/get', byId),
    'list webhooks': rpc('/', 'tasks/pushNotificationConfig/list', byId),
    'delete a webhook': rpc('/', 'tasks/pushNotificationConfig/delete', (id) => ({
      id,
      pushNotificationConfigId: 'one',
    })),
  },
  'v0.3 over HTTP+JSON': {
    get: http('GET', (id) => `/v1/tasks/${id}`),
    cancel: http(
      'POST',
      (id) => `/v1/tasks/${id}:cancel`,
      () => ({}),
    ),
    subscribe: http('GET', (id) => `/v1/tasks/${id}:subscribe`),
    send: http(
      'POST',
      () => '/v1/message:send',
      (id) => ({ message: v03ProtoMessage(id) }),
    ),
    'send and stream': http(
      'POST',
      () => '/v1/message:stream',
      (id) => ({ message: v03ProtoMessage(id) }),
    ),
    'set a webhook': http(
      'POST',
      (id) => `/v1/tasks/${id}/pushNotificationConfigs`,
      (id) => ({ parent: `tasks/${id}`, configId: 'one', config: webhook }),
    ),
    'get a webhook': http('GET', (id) => `/v1/tasks/${id}/pushNotificationConfigs/one`),
    'list webhooks': http('GET', (id) => `/v1/tasks/${id}/pushNotificationConfigs`),
  },
  'v0.3 over gRPC': {
    get: v03Grpc('GetTask', name),
    cancel: v03Grpc('CancelTask', name),
    subscribe: v03Grpc('TaskSubscription', name, true),
    send: v03Grpc('SendMessage', (id) => ({ request: v03ProtoMessage(id) })),
    'send and stream': v03Grpc('SendStreamingMessage', (id) => ({ request: v03ProtoMessage(id) }), true),
    'set a webhook': v03Grpc('CreateTaskPushNotificationConfig', (id) => ({
      parent: `tasks/${id}`,
      configId: 'one',
      config: webhook,
    })),
    'get a webhook': v03Grpc('GetTaskPushNotificationConfig', (id) => ({
      name: `tasks/${id}/pushNotificationConfigs/one`,
    })),
    'list webhooks': v03Grpc('ListTaskPushNotificationConfig', (id) => ({ parent: `tasks/${id}` })),
    'delete a webhook': v03Grpc('DeleteTaskPushNotificationConfig', (id) => ({
      name: `tasks/${id}/pushNotificationConfigs/one`,
    })),
  },
  // Sends are omitted: callers choose the ids of their tasks and must learn that an id is taken (RM-ID-1).
  'v0.1': v01('/'),
  'v0.1-go': v01('/go'),
  'task-rest': {
    get: http('GET', (id) => `/tasks/${id}`),
    cancel: http('POST', (id) => `/tasks/${id}/cancel`),
    subscribe: http('POST', () => '/tasks/resubscribe', byId),
    send: http('POST', () => '/tasks/send', restMessage),
    'send and stream': http('POST', () => '/tasks/sendSubscribe', restMessage),
    'set a webhook': http(
      'POST',
      () => '/tasks/pushNotification/set',
      (id) => ({ id, ...webhook }),
    ),
    'get a webhook': http('POST', () => '/tasks/pushNotification/get', byId),
  },
  invoke: {
    send: http(
      'POST',
      () => '/a2a/invoke',
      (id) => ({ input: 'mine now', task_id: id }),
    ),
    'send and stream': http(
      'POST',
      () => '/a2a/stream',
      (id) => ({ input: 'mine now', task_id: id }),
    ),
  },
  'chat-rpc': {
    get: rpc('/api/v1/a2a', 'tasks/get', byId),
    cancel: rpc('/api/v1/a2a', 'tasks/cancel', byId),
    send: rpc('/api/v1/a2a', 'message/send', v03Message),
    'send and stream': rpc('/api/v1/a2a', 'message/stream', v03Message),
  },
}
