/** Generates `docs/dialects.md` from the dialects: the operations of each binding, and information loss. */
import { readFileSync } from 'node:fs'
import type { Dialect } from '../../src/dialects/dialect.js'
import { peerQuirks, type Quirks, unknownPeer } from '../../src/dialects/quirks.js'
import { createDialects } from '../../src/dialects/servers.js'
import { type Operation, operations } from '../../src/model/operations.js'
import { deviations } from './dialect-deviations.js'

const introduction = `# Dialects

A *dialect* is the wire format of one version of A2A, or of an ad-hoc protocol similar to it. A Dragoman server answers every caller
in the caller's dialect, from one agent, one store and one port. A task that was created in one dialect is available in all others,
under the same id. Read this page to find out which clients can call your agent, and what they can express.

\`\`\`sh
u=http://localhost:8001 h='content-type: application/json'
# v1.0
curl $u/message:send -H "$h" -d '{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hi"}]}}'
curl $u -H "$h" -d '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"hi"}]}}}'
# v0.3, and 0.2 over JSON-RPC
curl $u -H "$h" -d '{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"1","role":"user","parts":[{"kind":"text","text":"hi"}]}}}'
curl $u/v1/message:send -H "$h" -d '{"message":{"messageId":"1","role":"ROLE_USER","content":[{"text":"hi"}]}}'
# v0.1, and at /go the Go library's variant
curl $u -H "$h" -d '{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{"id":"job-1","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}}'
# task-rest, invoke, chat-rpc
curl $u/tasks/send -H "$h" -d '{"message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}'
curl $u/a2a/invoke -H "$h" -d '{"input":"hi","chat_id":"c1"}'
curl $u/api/v1/a2a -H "$h" -d '{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","parts":[{"kind":"text","text":"hi"}]}}}'
# gRPC
dragoman send localhost:8001 --binding grpc hi
\`\`\`

This page is generated from the code (\`npm run docs\`); a test fails when it is out of date.

## Supported dialects

| Dialect | Origin | Recognised by |
|---|---|---|
| \`v1\` | the released protocol 1.0, for new agents and clients | \`SendMessage\`, \`/message:send\`, \`ROLE_USER\`; a part is \`{"text"}\` |
| \`v0.3\` | version 0.3, which many agents still use, and 0.2 | \`message/send\`, \`/v1/message:send\`; parts, tasks and events have a \`kind\` |
| \`v0.1\` | the first draft: it has only tasks, and clients choose their ids | \`tasks/send\`, \`tasks/sendSubscribe\`; a part has a \`type\` |
| \`v0.1-go\` | a community library for Go with its own variant of that draft | its address only, \`/go\` |
| \`task-rest\` | servers with the draft's task format over plain HTTP, without JSON-RPC | \`POST /tasks/send\`, \`GET /tasks/{id}\` |
| \`invoke\` | services with one call and no tasks: text in, text out, conversations by \`chat_id\` | \`POST /a2a/invoke\` with \`{"input"}\`; the response has \`{"output", "status"}\` |
| \`chat-rpc\` | chat services with 0.3's methods that answer with messages and stream chunks of text | \`message/send\` and \`message/stream\` at \`/api/v1/a2a\` |

The last three are *ad-hoc* dialects: they are in use, but have no published specification.

## Choosing dialects

The default is v1, v0.3 (which includes 0.2) and v0.1. The ad-hoc dialects use paths that v1.0 uses differently, so you have to
enable them:

\`\`\`ts
await serve(agent, { dialects: 'all' })
await serve(agent, { dialects: ['v1', 'v0.3', 'task-rest', { dialect: 'v0.1', path: '/old' }] })
\`\`\`

On the command line: \`dragoman serve --dialects all\`, or \`--dialects v1,v0.3,v0.1@/old\`. A dialect that is pinned to a path is the
only one at that path, and its card is there too. The server cannot distinguish calls of v0.1-go from v0.1, so v0.1-go is always
pinned, by default at \`/go\`. \`v0.1-go@/\` pins it to the agent's own address instead of v0.1. The server then distinguishes its
calls from v1 and v0.3 by their methods, and \`/.well-known/agent.json\` is its card.

## How the server recognises a dialect

1. A path that is pinned to a dialect decides.
2. gRPC: the service decides. HTTP+JSON: the path decides. JSON-RPC: the method decides.
3. A version named by the caller (\`A2A-Version\`, the header before the query) must be supported and must have the method or path.
   Otherwise the server answers \`VERSION_NOT_SUPPORTED\`, or "method not found" with a hint.
4. Without a version, ambiguous calls resolve to the older version. Calls that only v1.0 defines are served as v1.0
   (\`advanced: { assumeV1: false }\` turns that off).
5. Methods that 0.3 and 0.1 share (\`tasks/get\`, \`tasks/cancel\`, \`tasks/resubscribe\`) are answered in the dialect that created the
   task, or in the version that the caller names.

The server executes a JSON-RPC call without an \`id\` in every dialect. In v0.3 and 0.2 it is a notification: the server answers a
successful call with 204 and no body, and a failed one with an error whose \`id\` is null. In the other dialects the server answers it
like any other call, with \`id: null\`.

In v0.1 callers choose the ids of tasks: \`tasks/send\` without \`params.id\` fails with "invalid params". In v0.1-go the server
creates an id if \`params.id\` is missing or empty.

A server with \`advanced: { logCalls: true }\` (\`dragoman serve --verbose\`) logs the dialect of every call.

## Cards

\`/.well-known/agent-card.json\` answers \`A2A-Version: 1.0\` with the v1.0 card and \`0.3\` with the 0.3 card. A client that names no
version gets a *hybrid* card, which is valid in both versions, if 0.3 is served, else the v1.0 card. The option
\`advanced: { card: 'v1' | 'hybrid' | 'v0.3' | 'chat-rpc' }\` overrides this; \`chat-rpc\` is a hybrid card whose \`url\` is the chat-rpc endpoint.
\`/.well-known/agent.json\` is for 0.2 and older. \`validateCard\` in \`dragoman/server\` checks cards of all versions.

## gRPC

gRPC uses the same port, in cleartext (HTTP/2 with prior knowledge) or with TLS. The content type
distinguishes it from other HTTP/2 requests. If several agents
share a port, \`tenant\` selects the agent; their cards name it. Requests of 0.3 have no such field: 0.3 clients reach an agent only if it is
the only one on its port.

If a client requests the extension \`urn:dragoman:stream-position:v1\`, the metadata of each event contains its position in the log.
The client resumes with the metadata \`last-event-id\`. The services are described in \`proto/\`, which is part of the package, for
clients in any language: \`protoc -I node_modules/dragoman/proto a2a_v1.proto --python_out=.\`
`

const quirksIntroduction = `## Quirks

SDKs differ in points that the protocol leaves open. The server recognises a peer by the product names in its user agent and adapts
to it. The first row with a product of the user agent applies.

- **Errors of streams**: the response to a JSON-RPC call with \`Accept: text/event-stream\` and no other media type, if it fails
  before the first event. The Go SDK ignores everything but events; the JavaScript SDK creates typed errors only from a JSON body.
  In 0.3, JavaScript callers that send no \`A2A-Version\` get an event: releases before 1.0 reject other media types.
  Errors that keep their HTTP status (401, 403, 413, 429, 503) are JSON bodies for every peer.
- **File content**: \`file_with_bytes\` in 0.3 over gRPC and HTTP+JSON is either the bytes or the bytes of their base64 text. The
  server reads text that is not base64 as raw bytes.
`

const bindings = [
  ['JSON-RPC', methodOf],
  ['HTTP+JSON', routeOf],
  ['gRPC', rpcOf],
] as const

const draftIntroduction = `## Deviations from drafts

Some dialects are defined by documents that are incomplete or contradict the released specification. The server follows the
document unless that breaks a released client, and serves both variants where possible. It deviates deliberately in these points:
`

/** Dialect, statement of its document, behaviour of the server and its reason. */
/** Code of the example dialect, from one text up to and with another. */
function excerpt(from: string, to: string): string {
  const code = readFileSync(new URL('../fixtures/toy-dialect/index.ts', import.meta.url), 'utf8')
  const start = code.indexOf(from)
  return code.slice(start, code.indexOf(to, start) + to.length).trimEnd()
}

const writingADialect = `## Writing a dialect

Write a dialect if your callers or agents use a format that is not on this page. A dialect is data and pure functions, in one folder:
facts, the server's side (\`Dialect\`) and the client's side (\`ClientDialect\`). Server and client need nothing else: they
recognise, list, describe and call a dialect by these objects alone. The types are in \`dragoman/dialects\`. The examples are from
a complete dialect in [test/fixtures/toy-dialect](../test/fixtures/toy-dialect/index.ts), which has three JSON-RPC methods.

State the facts that both sides share:

\`\`\`ts
${excerpt('const facts', '\n}\n')}
\`\`\`

The server's side decodes requests into the model and encodes results. Its *forms* (\`jsonrpc\`, \`rest\`) decide about its bindings.
An operation without a codec is "method not found" to callers. A form for gRPC needs message types that are part of this package.

\`\`\`ts
${excerpt('export const toy: Dialect', '\n}\n')}
\`\`\`

The client's side is the reverse. Its \`card.recognise\` says whether a card is in this dialect, \`toPushFrame\` whether a webhook body is.

Pass the objects to the server and the client:

\`\`\`ts
await serve(agent, { dialects: ['v1', 'v0.3', toy, { dialect: otherDialect, path: '/other' }] })
const client = await connect(url, { dialects: [toyClient] })
const receive = createPushReceiver({ dialects: [toyClient], onDelivery })
\`\`\`

Test both sides with the suite that the dialects of this package pass. It runs in any test runner:

\`\`\`ts
import { dialectContract } from 'dragoman/testing'

dialectContract({ describe, it }, { server: toy, client: toyClient })
\`\`\`

| Fact | Meaning |
|---|---|
| \`name\` | the name in options, logs and stores |
| \`versions\` | values of \`A2A-Version\` that callers send for it. Empty: the server recognises it by its paths |
| \`acceptedVersions\` | other values that its callers are known to send |
| \`requiresVersion\` | callers must name the version, and the client sends it |
| \`extensionsHeader\` | the header that names extensions |
| \`cardVersion\` | the version of its interfaces in cards |
| \`isListed\` | cards list its interfaces |
| \`hasTenants\` | requests can name a tenant |
| \`isDefault\`, \`defaultPath\` | whether servers offer it by default, and the path to which it is pinned if none is given |
| \`traits\` | requirements on the engine: \`mustBeTask\` if results are always tasks, \`cannotResume\` if streams begin with the task, and others |
| \`card\` | the card in this dialect; if its cards are signed, and how |
| \`push\` | the body of webhook calls: every event, or the task |
| \`omitsTaskOnSubscribe\` | (client) subscriptions do not begin with the task, so the client polls after a broken stream |
`

export function dialectsPage(): string {
  const members = createDialects()
  const chapters = members.flatMap((dialect) => [
    `### ${dialect.name}\n`,
    `Versions: ${dialect.versions.join(', ') || 'none; its paths identify it'}. Extensions in \`${dialect.extensionsHeader}\`.${pushNote(dialect)}\n`,
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
    table(['Dialect', 'Document', 'Server'], deviations),
    '## Information loss\n\nNot every dialect can express all data. The direction is seen from the server.\n',
    lossTable(members),
    writingADialect,
  ].join('\n')
}

/** The bindings of each operation in each dialect. */
function summary(dialects: readonly Dialect[]): string {
  const head = ['', ...dialects.map(({ name }) => name)]
  const rows = operationNames().map((operation) => [
    operations[operation].name,
    ...dialects.map((dialect) => spokenOver(dialect, operation).join(', ') || '–'),
  ])
  return table(head, rows)
}

function spokenOver(dialect: Dialect, operation: Operation): string[] {
  const supported = bindings.filter(([, namesOf]) => namesOf(dialect, operation).length > 0)
  return supported.map(([name]) => name)
}

function operationTable(dialect: Dialect): string {
  const used = bindings.filter(([, namesOf]) =>
    operationNames().some((operation) => namesOf(dialect, operation).length > 0),
  )
  const rows = operationNames()
    .filter((operation) => spokenOver(dialect, operation).length > 0)
    .map((operation) => [
      operations[operation].name,
      ...used.map(
        ([, namesOf]) =>
          namesOf(dialect, operation)
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
  return push ? ` Webhooks that are registered in it receive its format, as \`${push.contentType}\`.` : ''
}

function lossTable(dialects: readonly Dialect[]): string {
  const rows = dialects.flatMap(({ name, limitations }) =>
    limitations.map(({ direction, what, remedy }) => [
      name,
      direction === 'in' ? 'received' : 'sent',
      what,
      remedy ?? '–',
    ]),
  )
  return table(['Dialect', 'Direction', 'Lost or changed', 'Remedy'], rows)
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
