/** Writes `docs/dialects.md` from the dialects themselves: what each can do over each binding, and what is lost. */
import { type Dialect, dialectNames } from '../../src/dialects/dialect.js'
import { createDialects } from '../../src/dialects/index.js'
import { peerQuirks, type Quirks, unknownPeer } from '../../src/dialects/quirks.js'
import { type Operation, operations } from '../../src/model/operations.js'

const introduction = `# Dialects

One agent, one task store, one port: every caller is answered in the dialect it speaks. A task made in one
dialect is the same task, under the same id, in every other.

This page is made from the code (\`npm run docs\`); a test fails when it is out of date.

## Supported dialects

A2A was published, changed and imitated before it settled. A *dialect* is one of the forms in which it is spoken.

| Dialect | Whose it is | To be told by |
|---|---|---|
| \`v1\` | the protocol as it was released, 1.0: what new agents and clients should speak | \`SendMessage\`, \`/message:send\`, \`ROLE_USER\`; a part is \`{"text"}\` |
| \`v0.3\` | 0.3, the version before it, which many agents still speak; and 0.2 before that | \`message/send\`, \`/v1/message:send\`; parts, tasks and events have a \`kind\` |
| \`v0.1\` | the first draft: there are only tasks, and clients choose their ids | \`tasks/send\`, \`tasks/sendSubscribe\`; a part has a \`type\` |
| \`v0.1-go\` | a community library for Go, which spells that draft in its own way | nothing but its address, \`/go\` |
| \`task-rest\` | servers that put the words of the draft on plain HTTP, without JSON-RPC | \`POST /tasks/send\`, \`GET /tasks/{id}\` |
| \`invoke\` | services with one call and no tasks: a text in, a text out, conversations by \`chat_id\` | \`POST /a2a/invoke\` with \`{"input"}\`, answered with \`{"output", "status"}\` |
| \`chat-rpc\` | chat services that took 0.3's methods, answer with messages and stream pieces of text | \`message/send\` and \`message/stream\` at \`/api/v1/a2a\` |

The last three are called ad hoc here: nobody published them, but they are in use.

## Which are on

By default v1, v0.3 (which serves 0.2 too) and v0.1. The ad-hoc dialects claim paths that v1.0 has other uses
for, so they are asked for:

\`\`\`ts
await serve(agent, { dialects: 'all' })
await serve(agent, { dialects: ['v1', 'v0.3', 'task-rest', { dialect: 'v0.1', path: '/old' }] })
\`\`\`

\`dragoman serve --dialects all\`, or \`--dialects v1,v0.3,v0.1@/old\`. A dialect that is pinned to a path has that
path for itself, its card included, and nothing else is understood there. The Go profile cannot be told from
v0.1 on arrival and is always pinned, at \`/go\` unless told otherwise. \`v0.1-go@/\` pins it to the agent's own address, in
place of v0.1: calls are told from those of v1 and v0.3 by their methods, and \`/.well-known/agent.json\` is its card.

## How a call is recognised

1. A path pinned to a dialect decides.
2. gRPC: the service decides. HTTP+JSON: the path decides. JSON-RPC: the method decides.
3. The version a caller names (\`A2A-Version\`, header before query) must be one that is offered, and must have the
   method or path: else \`VERSION_NOT_SUPPORTED\`, or "method not found" with a hint.
4. Without a version: what an older dialect may mean, it means; what only v1.0 can mean is served as v1.0
   (\`assumeV1: false\` switches that off).
5. Methods that 0.3 and 0.1 share (\`tasks/get\`, \`tasks/cancel\`, \`tasks/resubscribe\`) are answered as the task was
   created; with a version named, in that version.

A JSON-RPC call without an \`id\` is executed in every dialect. In v0.3 and 0.2 it is a notification: the server answers a
successful call with 204 and no body, and a failed one with an error whose \`id\` is null. In the other
dialects the server answers it like any other call, with \`id: null\`.

In v0.1 callers choose the ids of tasks: \`tasks/send\` without \`params.id\` fails with "invalid params". In v0.1-go the server
creates an id if \`params.id\` is missing or empty.

A server with \`logCalls: true\` (\`dragoman serve --verbose\`) logs the dialect of every call.

## What calls look like

\`\`\`sh
u=http://localhost:8001 h='content-type: application/json'
# v1.0
curl $u/message:send -H "$h" -d '{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hi"}]}}'
curl $u -H "$h" -d '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hi"}]}}}'
# v0.3, and 0.2 over JSON-RPC
curl $u -H "$h" -d '{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"1","role":"user","parts":[{"kind":"text","text":"hi"}]}}}'
curl $u/v1/message:send -H "$h" -d '{"message":{"messageId":"1","role":"ROLE_USER","content":[{"text":"hi"}]}}'
# v0.1, and at /go the Go library's form of it
curl $u -H "$h" -d '{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"id":"job-1","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}}'
# task-rest, invoke, chat-rpc
curl $u/tasks/send -H "$h" -d '{"message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}'
curl $u/a2a/invoke -H "$h" -d '{"input":"hi","chat_id":"c1"}'
curl $u/api/v1/a2a -H "$h" -d '{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","parts":[{"kind":"text","text":"hi"}]}}}'
# gRPC, with the files of proto/
dragoman send localhost:8001 --binding grpc hi
\`\`\`

## Cards

\`/.well-known/agent-card.json\` answers \`A2A-Version: 1.0\` with the v1.0 card and \`0.3\` with the 0.3 card. Readers that
name no version get both in one (*hybrid*) while 0.3 is spoken, else the v1.0 card; \`card: 'v1' | 'hybrid' | '0.3' | 'chat-rpc'\`
decides otherwise; \`chat-rpc\` is a hybrid card whose \`url\` is the chat-rpc endpoint. \`/.well-known/agent.json\` is for 0.2 and older. \`validateCard\` in \`dragoman/server\` checks any of them.

## gRPC

On the same port, in the clear (HTTP/2 with prior knowledge) or behind TLS (ALPN: clients that offer \`http/1.1\` get it;
those that insist on \`h2\` are taken for gRPC). Other HTTP/2 is refused. Agents that share a port are told apart by
\`tenant\`, which their cards name; 0.3 has no such field, so it reaches an agent only where that agent is alone.
Whoever asks for the extension \`urn:dragoman:stream-position:v1\` finds each event's place in the log in its metadata,
and resumes with the metadata \`last-event-id\`. The services are described in \`proto/\`, which the package has too, for
clients of any language: \`protoc -I node_modules/dragoman/proto a2a_v1.proto --python_out=.\`
`

const quirksIntroduction = `## Quirks

SDKs differ in points that the protocol leaves open. The server recognises a peer by the product names in its user agent and
reads and writes as that peer does. The first row with a product of the user agent decides.

- **Errors of streams**: the answer to a JSON-RPC call with \`Accept: text/event-stream\` and nothing else, when it fails before
  the first event. The Go SDK skips everything but events; the JavaScript SDK makes typed errors from a JSON body only.
  In 0.3, JavaScript callers that send no \`A2A-Version\` get an event: releases before 1.0 refuse other media types.
  Errors that keep their HTTP status (401, 403, 413, 429, 503) are JSON bodies for every peer.
- **File content**: \`file_with_bytes\` in 0.3 over gRPC and HTTP+JSON is either the bytes or the bytes of their base64 text. Text
  that is no base64 is read as raw bytes.
`

const bindings = [
  ['JSON-RPC', methodOf],
  ['HTTP+JSON', routeOf],
  ['gRPC', rpcOf],
] as const

const draftIntroduction = `## Draft and release

Some dialects come from documents that leave points open, or that contradict the released specification. The server follows
the document wherever no released client breaks, and serves both forms where it can. It deviates on purpose in these points:
`

/** Dialect, statement of its document, and the reason for another behaviour. */
const deviations: readonly (readonly [string, string, string])[] = [
  [
    'v1',
    'drafts of 1.0 have `TASK_STATE_CANCELLED`',
    'It is read. Answers have the released `TASK_STATE_CANCELED`; the gRPC service `a2a.v1` and `/v1/…` answer as the drafts do.',
  ],
  [
    'v1',
    'drafts of 1.0 have `file` parts with `fileWithBytes` or `fileWithUri`',
    'They are read. Answers have `raw` and `url`, as released; `a2a.v1` answers with `file`.',
  ],
  [
    'v1',
    'drafts of 1.0 wrap data parts: `{"data": {"data": …}}`',
    'The wrapper stays in the data, because a released client may send such an object. `a2a.v1` takes it off.',
  ],
  [
    'v1',
    'drafts of 1.0 stream messages as `msg`',
    'The client reads `msg`. The server sends the released `message`; over gRPC both are field 2.',
  ],
  [
    'v1',
    'drafts of 1.0 name the operations `SetTaskPushNotificationConfig` and `ListTaskPushNotificationConfig`',
    'Both names are answered over JSON-RPC and gRPC, beside the released ones.',
  ],
  [
    'v1',
    'drafts of 1.0 have the method names and `/v1/…` paths of 0.3, with `tasks/list` and `tasks/subscribe`',
    'They are answered in the shape of 0.3.',
  ],
  [
    'v1',
    'cards of drafts have `protocolVersion` "1.0" and `supportsAuthenticatedExtendedCard`',
    'The hybrid card has both; its `protocolVersion` is that of 0.3. Cards of drafts are read.',
  ],
  [
    'v1',
    'the HTTP form of `GetExtendedAgentCard` is `/.well-known/agent-card.json`',
    'That is the public card. The extended one is at `/extendedAgentCard` and `/v1/card`, for callers that are known.',
  ],
  [
    'v0.3',
    '`preferredTransport` is required, and has a default',
    'Our cards have it. `card validate` reports its absence as an error. Clients and registries read such cards, with JSONRPC.',
  ],
  [
    'v0.3',
    'one URL must not have conflicting transports, and may be reused',
    'JSON-RPC and HTTP+JSON share the address of the agent. gRPC may share a URL only without a path, because it calls fixed paths of the host.',
  ],
  [
    'v0.3',
    'the example card has the version 0.2.9 and a path for each transport',
    'Cards say 0.3.0. The addresses are those of the server.',
  ],
  [
    'v0.3',
    'a card with sensitive information must be protected',
    'With `protectCard`. The default is a public card, which official SDKs expect.',
  ],
  [
    'v0.3',
    'a call without an `id` is a notification',
    'A notification that succeeds is answered with 204 and no body. Errors are answered with `id: null`, so that callers that forget the `id` see them.',
  ],
  [
    'v0.3',
    'the state is `canceled` in the enumeration and `cancelled` in the text; there is a state `unknown`',
    '`canceled` is sent, both are read. `unknown` is never sent.',
  ],
  [
    'v0.3',
    '`metadata`, `extensions`, `referenceTaskIds` of messages, names of files and of artifacts are not optional',
    'They are left out if they are absent, as in the released 0.3.0.',
  ],
  ['v0.3', 'tasks in the examples have no `history` and no `timestamp`', 'Tasks have both.'],
  [
    'v0.1-go',
    'the endpoint is `/`',
    'At `/go` unless it is pinned to `/`, because v0.1 has the same methods with other answers.',
  ],
  [
    'v0.1-go',
    'handlers are a struct of eight functions',
    'An agent is a generator. `examples/handler-functions` makes one of such a struct; its card function is called once, at the start.',
  ],
  [
    'v0.1-go',
    'a state `unknown`',
    'It is read, and never sent: a task always has a state. Questions are `processing`, with the state in `a2aState`.',
  ],
  [
    'task-rest',
    'skill modes are words: `text`, `data`, `file`',
    'With 0.2, 0.3 or v0.1 on the same address, the card at `/.well-known/agent.json` lists the words and the media types.',
  ],
  ['task-rest', 'the API key is declared but not checked', 'The key is checked. Only the card is public.'],
  [
    'task-rest',
    'no `input-required`, no cancel, no push notifications',
    'They exist. `authentication` names further schemes, such as `Bearer`, where the server accepts them.',
  ],
  [
    'task-rest',
    '`index` is the number of a chunk in a stream',
    'It is 0 in whole tasks. Artifacts are told apart by `artifactId`, not by `index` as in v0.1.',
  ],
  [
    'invoke',
    '`status` is `success` or `error`',
    'Questions have the status `input_required`, unless `invokeQuestions` is `success`. Work that goes on has `processing`, as in streams.',
  ],
  [
    'invoke',
    'errors have a body, and no HTTP status of their own',
    'A task that failed is HTTP 200. Requests that reach no task have a status: 400 for a missing `input`, 401, 405, 413, 429.',
  ],
  ['invoke', 'no authentication', 'Credentials are checked where the server asks for them; `X-Agent-Name` is a hint.'],
  [
    'chat-rpc',
    '`tasks/get` and `tasks/cancel` always answer -32001 and -32002',
    'They work on stored tasks. The numbers are sent where they are true.',
  ],
  ['chat-rpc', 'a message has no `role` and no `taskId`', 'Both are added. Clients ignore them or use them.'],
  [
    'chat-rpc',
    'error messages are fixed',
    'They are the same. The text of the server is in `data.detail`, its code in `data.reason`.',
  ],
  [
    'chat-rpc',
    'every intermediate event has a `messageDelta` with text',
    'The first one is empty: it names the task before there is text, so that it can be canceled.',
  ],
  [
    'chat-rpc',
    '`TaskStatusUpdateEvent` is the only event',
    'Files and data are sent in events of the type `TaskArtifactUpdateEvent`.',
  ],
  [
    'chat-rpc',
    'a stream ends with `completed`',
    'It ends with `final` and `[DONE]` at every end, at `input-required` and at `auth-required`.',
  ],
  [
    'chat-rpc',
    'the `url` of the card is the chat endpoint',
    "With `card: 'chat-rpc'`. The default names the 0.3 endpoint, because clients of 0.3 cannot read these streams. Our client reads both by their shape.",
  ],
]

export function dialectsPage(): string {
  const dialects = createDialects()
  const members = dialectNames.map((name) => dialects[name])
  const chapters = members.flatMap((dialect) => [
    `### ${dialect.name}\n`,
    `Versions: ${dialect.versions.join(', ') || 'none, it is known by its paths'}. Extensions in \`${dialect.extensionsHeader}\`.${pushNote(dialect)}\n`,
    operationTable(dialect),
  ])
  return [
    introduction,
    '## Operations\n',
    summary(members),
    ...chapters,
    quirksIntroduction,
    quirkTable(),
    draftIntroduction,
    table(['Dialect', 'In the document', 'Here'], deviations),
    '## What is lost\n',
    lossTable(members),
  ].join('\n')
}

/** Which dialect has which operation over which binding, at a glance. */
function summary(dialects: readonly Dialect[]): string {
  const head = ['', ...dialects.map(({ name }) => name)]
  const rows = operationNames().map((operation) => [
    operations[operation].name,
    ...dialects.map((dialect) => spokenOver(dialect, operation).join(', ') || '–'),
  ])
  return table(head, rows)
}

function spokenOver(dialect: Dialect, operation: Operation): string[] {
  const spoken = bindings.filter(([, spell]) => spell(dialect, operation).length > 0)
  return spoken.map(([name]) => name)
}

function operationTable(dialect: Dialect): string {
  const used = bindings.filter(([, spell]) =>
    operationNames().some((operation) => spell(dialect, operation).length > 0),
  )
  const rows = operationNames()
    .filter((operation) => spokenOver(dialect, operation).length > 0)
    .map((operation) => [
      operations[operation].name,
      ...used.map(
        ([, spell]) =>
          spell(dialect, operation)
            .map((each) => `\`${each}\``)
            .join('<br>') || '–',
      ),
    ])
  return table(['', ...used.map(([name]) => name)], rows)
}

function methodOf({ jsonrpc }: Dialect, operation: Operation): string[] {
  const names = [...(jsonrpc?.methods ?? [])].filter(([, each]) => each === operation).map(([name]) => name)
  return jsonrpc?.paths ? names.map((name) => `${name} at ${jsonrpc.paths?.join(', ')}`) : names
}

function routeOf({ rest }: Dialect, operation: Operation): string[] {
  return (rest?.routes ?? [])
    .filter((each) => each.operation === operation)
    .map(({ method, path }) => `${method} ${path}`)
}

function rpcOf({ grpc }: Dialect, operation: Operation): string[] {
  const names = [...(grpc?.rpcs ?? [])].filter(([, each]) => each === operation).map(([name]) => name)
  return names.map((name) => `${grpc?.service}/${name}`)
}

function pushNote({ push }: Dialect): string {
  return push ? ` Webhooks registered in it are told in it, as \`${push.contentType}\`.` : ''
}

function lossTable(dialects: readonly Dialect[]): string {
  const rows = dialects.flatMap(({ name, losses }) =>
    losses.map(({ direction, what, remedy }) => [
      name,
      direction === 'in' ? 'from its peers' : 'to its peers',
      what,
      remedy ?? '–',
    ]),
  )
  return table(['Dialect', 'On the way', 'What', 'What is done about it'], rows)
}

const streamErrors: Readonly<Record<Quirks['streamErrors'], string>> = { event: 'one event', body: 'JSON body' }
const fileBytes: Readonly<Record<Quirks['fileBytes'], string>> = {
  raw: 'raw bytes',
  base64: 'base64 text',
  guessed: 'reads canonical base64 text as such, everything else as raw bytes; writes base64 text',
}

function quirkTable(): string {
  const rows = [...peerQuirks, { peer: 'Browsers and all others', products: [], ...unknownPeer }].map((row) => [
    row.peer,
    row.products.map((product) => `\`${product}\``).join(', ') || '–',
    streamErrors[row.streamErrors],
    fileBytes[row.fileBytes],
  ])
  return table(['Peer', 'Products in the user agent', 'Errors of streams', 'File content'], rows)
}

function operationNames(): readonly Operation[] {
  return Object.keys(operations) as Operation[]
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line), ''].join('\n')
}
