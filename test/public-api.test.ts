/** The public names and the wire format, as literals: a change of either fails here. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { operations } from 'dragoman/model'
import { describe, expect, it } from 'vitest'
import { createDialects } from '../src/dialects/servers.js'
import { errors } from '../src/dialects/v1/errors.js'
import { v1 } from '../src/dialects/v1/index.js'
import { parameterHeaders } from '../src/transports/transport.js'

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly bin: Readonly<Record<string, string>>
}

const authoring = [
  'agent',
  'approve',
  'artifact',
  'ask',
  'askAuth',
  'completed',
  'failed',
  'rejected',
  'reply',
  'step',
  'working',
]
const extensions = ['approvals', 'extension', 'steps', 'usage']
const schemes = ['apiKey', 'basic', 'bearer', 'jwt', 'mtls', 'oidc']
const content = ['data', 'file', 'isInterrupted', 'isTerminal', 'text', 'textOf']

/** Entries for other frameworks, in `src/integrations/`. */
const integrations: Readonly<Record<string, readonly string[]>> = {
  './ai-sdk': ['asChatTransport', 'asModel', 'asTools', 'chatEndpoint', 'fromAiSdk'],
  './mcp': ['fromMcp', 'mcpEndpoint'],
  './ag-ui': ['agUiEndpoint'],
  './openai': ['openAiEndpoint'],
  './langgraph': ['asNode', 'asTools', 'fromLangGraph'],
  './openai-agents': ['asTools', 'fromOpenAiAgent'],
}

/** Every entry and the values it exports. */
const entries: Readonly<Record<string, readonly string[]>> = {
  '.': [
    ...authoring,
    ...extensions,
    ...schemes,
    ...content,
    'fromJsonSchema',
    'A2AError',
    'MemoryStore',
    'TransportError',
    'connect',
    'serve',
  ],
  './model': [...content, ...extensions, 'A2AError', 'TransportError', 'answerApproval', 'errorCodes', 'operations'],
  './net': ['AddressRefused', 'createGuardedDialer', 'fetchFile', 'listenForRedirect'],
  './dialects': [
    'bindingsOf',
    'chosenDialects',
    'clientDialects',
    'dialectNames',
    'findDialect',
    'hasTasks',
    'newestVersion',
    'serverDialects',
  ],
  './server': [
    'cardForms',
    'createHandler',
    'createSigner',
    'errorProfiles',
    'expressMount',
    'fastifyMount',
    'generateSigningKey',
    'honoMount',
    'nextMount',
    'openStore',
    'openStorePush',
    'questionStatuses',
    'serve',
    'signingAlgorithms',
    'skillSchemasUri',
    'toNodeListener',
    'validateCard',
  ],
  './client': [
    ...content,
    ...extensions,
    'A2AError',
    'TransportError',
    'answerApproval',
    'apiKeyCredential',
    'basicCredential',
    'bearerCredential',
    'collect',
    'connect',
    'connectAgents',
    'createCardCache',
    'createPushReceiver',
    'createTokenStore',
    'errorCodes',
    'exampleAnswer',
    'fieldsOf',
    'formAnswer',
    'fromJsonSchema',
    'mutualTls',
    'oauth2',
    'readField',
    'readTurn',
    'schemaOf',
    'verifyCard',
  ],
  './engine': ['createEngine', 'isAgent', 'relayAgent', 'systemClock', 'viewTask'],
  './stores/sqlite': ['openSqliteStore'],
  './stores/postgres': ['openPostgresStore'],
  './stores/simple': ['openFileStore', 'simpleStore'],
  './auth': [...schemes, 'allOf', 'withFlows', 'withScopes'],
  './orchestrator': ['StepError', 'StepResult', 'graphOf', 'workflow', 'workflowUri'],
  './registry': [
    'RegistryError',
    'createRegistry',
    'fileResolver',
    'nacosResolver',
    'registryClient',
    'registryResolver',
    'serveRegistry',
    'staticResolver',
  ],
  './cloudflare': ['agentObject'],
  './console': ['callHeader', 'consoleHeader', 'createConsole', 'serveConsole', 'tabHeader'],
  './testing': [
    'callBy',
    'dialectContract',
    'echoAgent',
    'fakeClock',
    'gate',
    'send',
    'storeContract',
    'testAgent',
    'transportContract',
    'until',
    'userMessage',
  ],
  ...integrations,
}

const importers: Readonly<Record<string, () => Promise<object>>> = {
  '.': () => import('dragoman'),
  './model': () => import('dragoman/model'),
  './net': () => import('dragoman/net'),
  './server': () => import('dragoman/server'),
  './client': () => import('dragoman/client'),
  './dialects': () => import('dragoman/dialects'),
  './engine': () => import('dragoman/engine'),
  './stores/sqlite': () => import('dragoman/stores/sqlite'),
  './stores/postgres': () => import('dragoman/stores/postgres'),
  './stores/simple': () => import('dragoman/stores/simple'),
  './auth': () => import('dragoman/auth'),
  './orchestrator': () => import('dragoman/orchestrator'),
  './registry': () => import('dragoman/registry'),
  './cloudflare': () => import('dragoman/cloudflare'),
  './console': () => import('dragoman/console'),
  './testing': () => import('dragoman/testing'),
  './ai-sdk': () => import('dragoman/ai-sdk'),
  './mcp': () => import('dragoman/mcp'),
  './ag-ui': () => import('dragoman/ag-ui'),
  './openai': () => import('dragoman/openai'),
  './langgraph': () => import('dragoman/langgraph'),
  './openai-agents': () => import('dragoman/openai-agents'),
}

/** A public name, types included, and the declaration behind it. */
interface PublicName {
  readonly entry: string
  readonly name: string
  /** Path of the declaring file and name in it. */
  readonly declaration: string
  readonly comment: string
}

function folderOf(entry: string): string {
  if (entry === '.') return ''
  return `${entry in integrations ? 'integrations/' : ''}${entry.slice(2)}/`
}

const sourceOf = (entry: string) => `src/${folderOf(entry)}index.ts`
const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const exportLists = /^export (?:type )?\{([^}]*)\} from '([^']+)'/gm

function exportedFrom(path: string): readonly { readonly name: string; readonly from: string }[] {
  return [...read(path).matchAll(exportLists)].flatMap(([, list = '', from = '']) =>
    list
      .split(',')
      .map((item) => item.trim().replace(/^type /, ''))
      .filter((item) => item !== '')
      .map((name) => ({ name, from: join(dirname(path), from.replace(/\.js$/, '.ts')) })),
  )
}

/** Follows re-exports to the declaration of a name. */
function find(name: string, path: string): Pick<PublicName, 'declaration' | 'comment'> | undefined {
  const source = read(path)
  const kinds = '(?:declare |abstract |async )*(?:function\\*?|class|const|interface|type)'
  const [, before] = new RegExp(`^([\\s\\S]*?)^export ${kinds} ${name}\\b`, 'm').exec(source) ?? []
  if (before !== undefined) {
    const [comment = ''] = /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n(\/\/ biome-ignore.*\n)?$/.exec(before) ?? []
    return { declaration: `${path} ${name}`, comment }
  }
  const passedOn = exportedFrom(path).find((each) => each.name === name)
  const everything = [...source.matchAll(/^export \* from '([^']+)'/gm)].map(([, from = '']) =>
    join(dirname(path), from.replace(/\.js$/, '.ts')),
  )
  for (const next of passedOn ? [passedOn.from] : everything) {
    const found = find(name, next)
    if (found) return found
  }
  return undefined
}

const publicNames: readonly PublicName[] = Object.keys(entries).flatMap((entry) =>
  exportedFrom(sourceOf(entry)).map(({ name, from }) => {
    const found = find(name, from)
    if (!found) throw new Error(`${name} of ${entry} is not declared in ${from}`)
    return { entry, name, ...found }
  }),
)

describe('the package', () => {
  it('has these entries and no others', () => {
    expect(Object.keys(manifest.exports).sort()).toEqual(
      [...Object.keys(entries), './package.json', './proto/*'].sort(),
    )
    expect(manifest.bin).toEqual({ dragoman: 'bin/dragoman.js' })
  })

  it.each(Object.keys(entries))('points %s at its source, its types and its build', (entry) => {
    const base = folderOf(entry)
    expect(manifest.exports[entry]).toEqual({
      'dragoman-source': `./src/${base}index.ts`,
      types: `./dist/${base}index.d.ts`,
      default: `./dist/${base}index.js`,
    })
  })

  it.each(Object.entries(entries))('exports exactly these values from %s', async (entry, names) => {
    const module = await importers[entry]?.()
    expect(Object.keys(module ?? {}).sort()).toEqual([...names].sort())
  })

  it('exports at most 60 names from its main entry, types included', () => {
    const names = publicNames.filter(({ entry }) => entry === '.')
    expect(names.length).toBeGreaterThan(40)
    expect(names.length).toBeLessThanOrEqual(60)
  })

  it('has section comments in entries with many exports, in the order write, serve, call, extend', () => {
    const sections = [...read('src/index.ts').matchAll(/^\/\/ (\w+).*\n\n/gm)].map(([, first]) => first)
    expect(sections).toEqual(['Write', 'Serve', 'Call', 'Extend'])
    const large = Object.keys(entries).filter((entry) => exportedFrom(sourceOf(entry)).length > 12)
    expect(large.filter((entry) => !/\n\n\/\/ .*\n\n/.test(read(sourceOf(entry))))).toEqual([])
  })

  it('has a doc comment on every public name that begins with a noun or a verb', () => {
    const text = ({ comment }: PublicName) => comment.replace(/^\/\*\*\s*(\* )?/, '')
    const wrong = publicNames.filter((each) => !/^\S/.test(text(each)) || /^(What|Who|Where|How)\w*\b/.test(text(each)))
    expect([...new Set(wrong.map(({ declaration }) => declaration))]).toEqual([])
  })

  it('exports one declaration under each name, in every entry', () => {
    const declarations = new Map(publicNames.map(({ name, declaration }) => [name, declaration]))
    // An agent has tools for each framework; applications use one.
    const general = publicNames.filter(({ name }) => name !== 'asTools')
    const ambiguous = general.filter(({ name, declaration }) => declarations.get(name) !== declaration)
    expect(ambiguous.map(({ entry, name }) => `${name} of ${entry}`)).toEqual([])
  })
})

describe('the wire', () => {
  it('has these versions', () => {
    expect(createDialects().map(({ name, versions }) => [name, ...versions])).toEqual([
      ['v1', '1.0'],
      ['v0.3', '0.3', '0.2'],
      ['v0.1', '0.1'],
      ['v0.1-go'],
      ['task-rest'],
      ['invoke'],
      ['chat-rpc'],
    ])
  })

  it('has these operations', () => {
    expect(operations).toEqual({
      sendMessage: { name: 'SendMessage', isStreaming: false },
      sendStreamingMessage: { name: 'SendStreamingMessage', isStreaming: true },
      getTask: { name: 'GetTask', isStreaming: false },
      listTasks: { name: 'ListTasks', isStreaming: false },
      cancelTask: { name: 'CancelTask', isStreaming: false },
      subscribeToTask: { name: 'SubscribeToTask', isStreaming: true },
      createTaskPushNotificationConfig: { name: 'CreateTaskPushNotificationConfig', isStreaming: false },
      getTaskPushNotificationConfig: { name: 'GetTaskPushNotificationConfig', isStreaming: false },
      listTaskPushNotificationConfigs: { name: 'ListTaskPushNotificationConfigs', isStreaming: false },
      deleteTaskPushNotificationConfig: { name: 'DeleteTaskPushNotificationConfig', isStreaming: false },
      getExtendedAgentCard: { name: 'GetExtendedAgentCard', isStreaming: false },
    })
  })

  it('has these methods and routes in v1.0', () => {
    expect([...(v1.jsonrpc?.methods ?? [])].map(([method]) => method).sort()).toEqual([
      'CancelTask',
      'CreateTaskPushNotificationConfig',
      'DeleteTaskPushNotificationConfig',
      'GetExtendedAgentCard',
      'GetTask',
      'GetTaskPushNotificationConfig',
      'ListTaskPushNotificationConfig',
      'ListTaskPushNotificationConfigs',
      'ListTasks',
      'SendMessage',
      'SendStreamingMessage',
      'SetTaskPushNotificationConfig',
      'SubscribeToTask',
    ])
    expect(v1.rest?.routes.map(({ method, path, operation }) => `${method} ${path} ${operation}`).sort()).toEqual([
      'DELETE /tasks/{taskId}/pushNotificationConfigs/{id} deleteTaskPushNotificationConfig',
      'GET /extendedAgentCard getExtendedAgentCard',
      'GET /tasks listTasks',
      'GET /tasks/{id} getTask',
      'GET /tasks/{id}:subscribe subscribeToTask',
      'GET /tasks/{taskId}/pushNotificationConfigs listTaskPushNotificationConfigs',
      'GET /tasks/{taskId}/pushNotificationConfigs/{id} getTaskPushNotificationConfig',
      'POST /message:send sendMessage',
      'POST /message:stream sendStreamingMessage',
      'POST /tasks/{id}:cancel cancelTask',
      'POST /tasks/{id}:subscribe subscribeToTask',
      'POST /tasks/{taskId}/pushNotificationConfigs createTaskPushNotificationConfig',
    ])
  })

  it('has these errors in v1.0: JSON-RPC number, HTTP status, gRPC name', () => {
    const rows = Object.entries(errors).map(([code, { jsonrpc, http, grpc }]) => [code, jsonrpc, http, grpc])
    expect(rows).toEqual([
      ['TASK_NOT_FOUND', -32001, 404, 'NOT_FOUND'],
      ['TASK_NOT_CANCELABLE', -32002, 400, 'FAILED_PRECONDITION'],
      ['PUSH_NOTIFICATION_NOT_SUPPORTED', -32003, 400, 'FAILED_PRECONDITION'],
      ['UNSUPPORTED_OPERATION', -32004, 400, 'FAILED_PRECONDITION'],
      ['CONTENT_TYPE_NOT_SUPPORTED', -32005, 400, 'INVALID_ARGUMENT'],
      ['INVALID_AGENT_RESPONSE', -32006, 500, 'INTERNAL'],
      ['EXTENDED_AGENT_CARD_NOT_CONFIGURED', -32007, 400, 'FAILED_PRECONDITION'],
      ['EXTENSION_SUPPORT_REQUIRED', -32008, 400, 'FAILED_PRECONDITION'],
      ['VERSION_NOT_SUPPORTED', -32009, 400, 'FAILED_PRECONDITION'],
      ['PARSE_ERROR', -32700, 400, 'INVALID_ARGUMENT'],
      ['INVALID_REQUEST', -32600, 400, 'INVALID_ARGUMENT'],
      ['METHOD_NOT_FOUND', -32601, 404, 'UNIMPLEMENTED'],
      ['INVALID_PARAMS', -32602, 400, 'INVALID_ARGUMENT'],
      ['INTERNAL_ERROR', -32603, 500, 'INTERNAL'],
      ['UNAUTHENTICATED', -32000, 401, 'UNAUTHENTICATED'],
      ['PERMISSION_DENIED', -32000, 403, 'PERMISSION_DENIED'],
      ['RATE_LIMITED', -32000, 429, 'RESOURCE_EXHAUSTED'],
      ['PAYLOAD_TOO_LARGE', -32600, 413, 'RESOURCE_EXHAUSTED'],
      ['UNAVAILABLE', -32603, 503, 'UNAVAILABLE'],
    ])
  })

  it('has these headers', () => {
    expect(parameterHeaders).toEqual({
      version: 'A2A-Version',
      extensions: 'A2A-Extensions',
      oldExtensions: 'X-A2A-Extensions',
      idempotencyKey: 'Idempotency-Key',
      lastEventId: 'Last-Event-ID',
      traceparent: 'traceparent',
      tracestate: 'tracestate',
    })
  })
})
