/** Deviations from drafts of the protocol: dialect, rule of the draft, behaviour of Dragoman. */
export const deviations: readonly (readonly [string, string, string])[] = [
  [
    'v1',
    'drafts of 1.0 have `TASK_STATE_CANCELLED`',
    'The server accepts it. Responses have the released `TASK_STATE_CANCELED`; the gRPC service `a2a.v1` and `/v1/…` respond as in the drafts.',
  ],
  [
    'v1',
    'drafts of 1.0 have `file` parts with `fileWithBytes` or `fileWithUri`',
    'The server accepts them. Responses have `raw` and `url`, as released; `a2a.v1` responds with `file`.',
  ],
  [
    'v1',
    'drafts of 1.0 wrap data parts: `{"data": {"data": …}}`',
    'The wrapper stays in the data, because a released client may send such an object. `a2a.v1` removes it.',
  ],
  [
    'v1',
    'drafts of 1.0 stream messages as `msg`',
    'The client reads `msg`. The server sends the released `message`; over gRPC both are field 2.',
  ],
  [
    'v1',
    'drafts of 1.0 name the operations `SetTaskPushNotificationConfig` and `ListTaskPushNotificationConfig`',
    'The server accepts both names over JSON-RPC and gRPC, in addition to the released ones.',
  ],
  [
    'v1',
    'drafts of 1.0 have the method names and `/v1/…` paths of 0.3, with `tasks/list` and `tasks/subscribe`',
    'The server answers them in the format of 0.3.',
  ],
  [
    'v1',
    'cards of drafts have `protocolVersion` "1.0" and `supportsAuthenticatedExtendedCard`',
    'The hybrid card has both; its `protocolVersion` is that of 0.3. The client reads cards of drafts.',
  ],
  [
    'v1',
    'the HTTP form of `GetExtendedAgentCard` is `/.well-known/agent-card.json`',
    'That is the public card. The extended card is at `/extendedAgentCard` and `/v1/card`, for authenticated callers.',
  ],
  [
    'v0.3',
    '`preferredTransport` is required, and has a default',
    'Our cards have it. `card validate` reports its absence as an error. Clients and registries accept such cards and assume JSONRPC.',
  ],
  [
    'v0.3',
    'one URL must not have conflicting transports, and may be reused',
    'JSON-RPC and HTTP+JSON share the address of the agent. gRPC may share a URL only without a path, because it calls fixed paths of the host.',
  ],
  [
    'v0.3',
    'the example card has the version 0.2.9 and a path for each transport',
    'Cards have the version 0.3.0 and the addresses of the server.',
  ],
  [
    'v0.3',
    'a card with sensitive information must be protected',
    '`advanced.protectCard` protects it. The default is a public card, which official SDKs expect.',
  ],
  [
    'v0.3',
    'a call without an `id` is a notification',
    'The server answers a successful notification with 204 and no body. Errors have `id: null`, so that callers that forgot the `id` see them.',
  ],
  [
    'v0.3',
    'the state is `canceled` in the enumeration and `cancelled` in the text; there is a state `unknown`',
    'The server sends `canceled` and accepts both. It never sends `unknown`.',
  ],
  [
    'v0.3',
    '`metadata`, `extensions`, `referenceTaskIds` of messages, names of files and of artifacts are not optional',
    'The server omits absent members, as in the released 0.3.0.',
  ],
  ['v0.3', 'tasks in the examples have no `history` and no `timestamp`', 'Tasks have both.'],
  [
    'v0.1-go',
    'the endpoint is `/`',
    'The endpoint is `/go` unless it is pinned to `/`, because v0.1 has the same methods with other responses.',
  ],
  [
    'v0.1-go',
    'handlers are a struct of eight functions',
    'An agent is a generator. `examples/handler-functions` converts such a struct; its card function is called once, at start.',
  ],
  [
    'v0.1-go',
    'a state `unknown`',
    'The server accepts it and never sends it: a task always has a state. Questions are `processing`, with the state in `a2aState`.',
  ],
  [
    'task-rest',
    'skill modes are words: `text`, `data`, `file`',
    'With 0.2, 0.3 or v0.1 on the same address, the card at `/.well-known/agent.json` lists the words and the media types.',
  ],
  ['task-rest', 'the API key is declared but not checked', 'The server checks the key. Only the card is public.'],
  [
    'task-rest',
    'no `input-required`, no cancel, no push notifications',
    'The server supports them. `authentication` names further accepted schemes, such as `Bearer`.',
  ],
  [
    'task-rest',
    '`index` is the number of a chunk in a stream',
    'It is 0 in whole tasks. `artifactId` identifies artifacts, not `index` as in v0.1.',
  ],
  [
    'invoke',
    '`status` is `success` or `error`',
    'Questions have the status `input_required`, unless `advanced.invokeQuestions` is `success`. Unfinished work has `processing`, as in streams.',
  ],
  [
    'invoke',
    'errors have a body and no specific HTTP status',
    'A failed task is HTTP 200. Requests that create no task have a status: 400 for a missing `input`, 401, 405, 413, 429.',
  ],
  ['invoke', 'no authentication', 'The server checks credentials if `auth` is configured; `X-Agent-Name` is a hint.'],
  [
    'chat-rpc',
    '`tasks/get` and `tasks/cancel` always answer -32001 and -32002',
    'They work on stored tasks. The server sends these codes only when they apply.',
  ],
  ['chat-rpc', 'a message has no `role` and no `taskId`', 'The server adds both. Clients may ignore them.'],
  [
    'chat-rpc',
    'error messages are fixed',
    "They are equal to the document. The server's own text is in `data.detail`, its code in `data.reason`.",
  ],
  [
    'chat-rpc',
    'every intermediate event has a `messageDelta` with text',
    'The first one is empty: it contains the id of the task before there is text, so that clients can cancel it.',
  ],
  [
    'chat-rpc',
    '`TaskStatusUpdateEvent` is the only event',
    'The server sends files and data in events of the type `TaskArtifactUpdateEvent`.',
  ],
  [
    'chat-rpc',
    'a stream ends with `completed`',
    'It ends with `final` and `[DONE]` in every terminal state, at `input-required` and at `auth-required`.',
  ],
  [
    'chat-rpc',
    'the `url` of the card is the chat endpoint',
    "This needs `advanced.card: 'chat-rpc'`. By default it is the 0.3 endpoint, because clients of 0.3 cannot read these streams. Our client detects the format of both.",
  ],
]
