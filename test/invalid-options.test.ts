/** Public functions refuse misspelt options, with the name that was probably meant, and values of the wrong kind. */
import * as main from 'dragoman'
import * as agUi from 'dragoman/ag-ui'
import * as aiSdk from 'dragoman/ai-sdk'
import * as auth from 'dragoman/auth'
import * as client from 'dragoman/client'
import * as cloudflare from 'dragoman/cloudflare'
import * as consoleEntry from 'dragoman/console'
import * as dialects from 'dragoman/dialects'
import * as engine from 'dragoman/engine'
import * as langgraph from 'dragoman/langgraph'
import * as mcp from 'dragoman/mcp'
import * as model from 'dragoman/model'
import * as net from 'dragoman/net'
import * as openai from 'dragoman/openai'
import * as openaiAgents from 'dragoman/openai-agents'
import * as orchestrator from 'dragoman/orchestrator'
import * as registry from 'dragoman/registry'
import * as server from 'dragoman/server'
import * as postgres from 'dragoman/stores/postgres'
import * as simple from 'dragoman/stores/simple'
import * as sqlite from 'dragoman/stores/sqlite'
import { testAgent } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'
import manifest from '../package.json' with { type: 'json' }

async function* handle({ text }: main.Turn) {
  yield text.toUpperCase()
}

const shout = main.agent('Shout', handle)
const store = new main.MemoryStore()
const url = 'http://localhost:1'

/** A call with a misspelt option. Types refuse it as well; these callers have none. */
type Mistake = readonly [expected: string, call: () => unknown]

function mistake(owner: string, wrong: string, right: string, call: () => unknown): Mistake {
  return [`Unknown option of ${owner}: ${wrong}. Did you mean \`${right}\`?`, call]
}

/** Options as an untyped caller gives them. */
function given(options: object): never {
  return options as never
}

const schemes: Readonly<Record<string, readonly Mistake[]>> = {
  apiKey: [
    mistake('apiKey', 'nmae', 'name', () => main.apiKey('secret', given({ nmae: 'X-Key' }))),
    mistake('a caller in apiKey', 'scope', 'scopes', () => main.apiKey({ secret: given({ id: 'ann', scope: [] }) })),
  ],
  basic: [
    mistake('basic', 'relm', 'realm', () => main.basic({ ann: 'pw' }, given({ relm: 'x' }))),
    mistake('basic: the user ann', 'scope', 'scopes', () => main.basic({ ann: given({ password: 'pw', scope: [] }) })),
  ],
  bearer: [mistake('bearer', 'schema', 'scheme', () => main.bearer('token', given({ schema: 'x' })))],
  jwt: [
    mistake('jwt', 'isuer', 'issuer', () => main.jwt(given({ audience: 'a', secret: 'x'.repeat(32), isuer: 'x' }))),
  ],
  withFlows: [
    mistake('withFlows', 'metadataURL', 'metadataUrl', () =>
      auth.withFlows(main.bearer('token'), {}, given({ metadataURL: url })),
    ),
  ],
  mtls: [mistake('mtls', 'callr', 'caller', () => main.mtls(given({ callr: 'dns' })))],
  oidc: [mistake('oidc', 'algorithm', 'algorithms', () => main.oidc('https://id.example', given({ algorithm: [] })))],
}

const authoring: Readonly<Record<string, readonly Mistake[]>> = {
  agent: [
    mistake('agent', 'skils', 'skills', () => main.agent(given({ name: 'X', skils: [] }), handle)),
    mistake('agent.skills[1]', 'tag', 'tags', () =>
      main.agent(given({ name: 'X', skills: [{ id: 'a' }, { id: 'b', tag: [] }] }), handle),
    ),
    mistake('agent.capabilities', 'pushNotification', 'pushNotifications', () =>
      main.agent(given({ name: 'X', capabilities: { pushNotification: true } }), handle),
    ),
  ],
  apiKeyCredential: [
    mistake('apiKeyCredential', 'nmae', 'name', () => client.apiKeyCredential('key', given({ nmae: 'X-Key' }))),
  ],
  approve: [
    mistake('approve', 'hnt', 'hint', () => main.approve([{ id: 'c', name: 'pay', args: {} }], given({ hnt: 'x' }))),
    mistake('approve', 'nmae', 'name', () => main.approve([given({ id: 'c', nmae: 'pay', args: {} })])),
  ],
  artifact: [mistake('artifact', 'apend', 'append', () => main.artifact('a', 'b', given({ apend: true })))],
  ask: [mistake('ask', 'shema', 'schema', () => main.ask('?', given({ shema: {} })))],
  askAuth: [mistake('askAuth', 'metdata', 'metadata', () => main.askAuth('?', given({ metdata: {} })))],
  completed: [mistake('completed', 'metdata', 'metadata', () => main.completed('x', given({ metdata: {} })))],
  extension: [mistake('extension', 'shema', 'schema', () => main.extension(given({ uri: 'urn:x', shema: {} })))],
  failed: [mistake('failed', 'metdata', 'metadata', () => main.failed('x', given({ metdata: {} })))],
  rejected: [mistake('rejected', 'metdata', 'metadata', () => main.rejected('x', given({ metdata: {} })))],
  reply: [mistake('reply', 'metdata', 'metadata', () => main.reply('x', given({ metdata: {} })))],
  working: [mistake('working', 'extension', 'extensions', () => main.working('x', given({ extension: [] })))],
}

const handler: readonly Mistake[] = [
  mistake('createHandler', 'publicURI', 'publicUrl', () => server.createHandler(shout, given({ publicURI: url }))),
  mistake('createHandler.agents[0]', 'paht', 'path', () => server.createHandler([given({ agent: shout, paht: '/a' })])),
  mistake('createHandler.routes[0]', 'public', 'isPublic', () =>
    server.createHandler(shout, { routes: [given({ path: '/x', answer: () => undefined, public: true })] }),
  ),
  mistake('createHandler.dialects[1]', 'paht', 'path', () =>
    server.createHandler(shout, { dialects: ['v1', given({ dialect: 'v0.1', paht: '/old' })] }),
  ),
  mistake('createHandler.limits.rate', 'persecond', 'perSecond', () =>
    server.createHandler(shout, { limits: { rate: given({ persecond: 1 }) } }),
  ),
  mistake('createSigner', 'profile', 'profiles', () =>
    server.createHandler(shout, { advanced: { signing: given({ keys: [], profile: [] }) } }),
  ),
]

const serving: readonly Mistake[] = [
  mistake('serve', 'prot', 'port', () => main.serve(shout, given({ prot: 8001 }))),
  mistake('serve', 'protectCard', 'advanced.protectCard', () => main.serve(shout, given({ protectCard: true }))),
  mistake('serve.agents[0]', 'prot', 'port', () => main.serve([given({ agent: shout, prot: 8001 })])),
  mistake('serve.routes[0]', 'anwser', 'answer', () =>
    main.serve(shout, { routes: [given({ path: '/x', anwser: () => undefined })] }),
  ),
  mistake('serve.register', 'tag', 'tags', () => main.serve(shout, { register: given({ url, tag: [] }) })),
]

const integrations: Readonly<Record<string, readonly Mistake[]>> = {
  agUiEndpoint: [mistake('agUiEndpoint', 'paths', 'path', () => agUi.agUiEndpoint(given({ paths: '/ui' })))],
  asNode: [mistake('asNode', 'ouput', 'output', () => langgraph.asNode(url, given({ ouput: () => ({}) })))],
  chatEndpoint: [mistake('chatEndpoint', 'paht', 'path', () => aiSdk.chatEndpoint(given({ paht: '/chat' })))],
  fromAiSdk: [
    mistake('fromAiSdk', 'maxEarlierTask', 'maxEarlierTasks', () =>
      aiSdk.fromAiSdk(given({}), 'X', given({ maxEarlierTask: 1 })),
    ),
  ],
  fromOpenAiAgent: [
    mistake('fromOpenAiAgent', 'maxTurn', 'maxTurns', () =>
      openaiAgents.fromOpenAiAgent(given({}), 'X', given({ maxTurn: 1 })),
    ),
  ],
  fromLangGraph: [
    mistake('fromLangGraph', 'result', 'results', () =>
      langgraph.fromLangGraph(given({}), { name: 'X' }, given({ result: [] })),
    ),
  ],
  fromMcp: [
    mistake('agent', 'descripton', 'description', () =>
      mcp.fromMcp(
        { listTools: async () => ({ tools: [] }), callTool: async () => ({}) },
        given({ name: 'X', descripton: '' }),
      ),
    ),
  ],
  mcpEndpoint: [mistake('mcpEndpoint', 'waitMS', 'waitMs', () => mcp.mcpEndpoint(given({ waitMS: 1 })))],
  openAiEndpoint: [
    mistake('openAiEndpoint', 'contextHeader', 'contextHeaders', () =>
      openai.openAiEndpoint(given({ contextHeader: [] })),
    ),
  ],
}

const functions: Readonly<Record<string, readonly Mistake[]>> = {
  ...schemes,
  ...integrations,
  readTurn: [mistake('readTurn', 'continue', 'continues', () => client.readTurn(given([]), given({ continue: true })))],
  ...authoring,
  MemoryStore: [mistake('MemoryStore', 'maxByte', 'maxBytes', () => new main.MemoryStore(given({ maxByte: 1 })))],
  createGuardedDialer: [
    mistake('createGuardedDialer', 'allowHost', 'allowHosts', () => net.createGuardedDialer(given({ allowHost: [] }))),
  ],
  createSigner: [mistake('createSigner', 'key', 'keys', () => server.createSigner(given({ key: [] })))],
  fetchFile: [
    mistake('fetchFile', 'limit', 'limits', () => net.fetchFile({ url }, given({ limit: {} }))),
    mistake('fetchFile.limits', 'maxByte', 'maxBytes', () => net.fetchFile({ url }, { limits: given({ maxByte: 1 }) })),
  ],
  file: [mistake('file', 'fileName', 'filename', () => main.file(new URL(url), given({ fileName: 'x' })))],
  generateSigningKey: [
    mistake('generateSigningKey', 'algo', 'alg', () => server.generateSigningKey(given({ algo: 'ES256' }))),
  ],
  listenForRedirect: [mistake('listenForRedirect', 'prot', 'port', () => net.listenForRedirect(given({ prot: 1 })))],
  serve: serving,
  createHandler: handler,
  agentObject: [
    mistake('agentObject', 'publicURI', 'publicUrl', () => cloudflare.agentObject(shout, given({ publicURI: url }))),
  ],
  openStore: [
    mistake('openStore', 'mustExists', 'mustExist', () => server.openStore('memory', given({ mustExists: 1 }))),
  ],
  openStorePush: [
    mistake('openStorePush.push', 'timeout', 'timeoutMs', () =>
      server.openStorePush(store, { push: given({ timeout: 1 }) }),
    ),
  ],
  connect: [
    mistake('connect', 'credential', 'credentials', () => client.connect(url, given({ credential: 'x' }))),
    mistake('connect.retry', 'attempt', 'attempts', () => client.connect(url, { retry: given({ attempt: 1 }) })),
  ],
  connectAgents: [
    mistake('connectAgents', 'resolver', 'resolvers', () => client.connectAgents({}, given({ resolver: [] }))),
  ],
  createPushReceiver: [
    mistake('createPushReceiver', 'tokn', 'token', () =>
      client.createPushReceiver(given({ onDelivery: () => undefined, tokn: 'secret' })),
    ),
  ],
  mutualTls: [mistake('mutualTls', 'crt', 'cert', () => client.mutualTls(given({ crt: '', key: '' })))],
  oauth2: [mistake('oauth2', 'clientID', 'clientId', () => client.oauth2(given({ clientID: 'me' })))],
  verifyCard: [
    mistake('verifyCard', 'keyOrigin', 'keyOrigins', () => client.verifyCard({ raw: {} }, given({ keyOrigin: [] }))),
  ],
  createEngine: [
    mistake('createEngine', 'leaseMS', 'leaseMs', () => engine.createEngine(shout, given({ store, leaseMS: 1 }))),
  ],
  relayAgent: [
    mistake('agent', 'descripton', 'description', () =>
      engine.relayAgent(given({ name: 'X', descripton: '' }), given({})),
    ),
  ],
  openFileStore: [
    mistake('openFileStore', 'mustExists', 'mustExist', () => simple.openFileStore('x', given({ mustExists: true }))),
  ],
  simpleStore: [
    mistake('simpleStore', 'maxByte', 'maxBytes', () => simple.simpleStore(given({}), given({ maxByte: 1 }))),
  ],
  openSqliteStore: [
    mistake('openSqliteStore', 'durabilty', 'durability', () =>
      sqlite.openSqliteStore(':memory:', given({ durabilty: 'full' })),
    ),
  ],
  openPostgresStore: [
    mistake('openPostgresStore', 'connection', 'connections', () =>
      postgres.openPostgresStore('postgres://localhost:1/x', given({ connection: 1 })),
    ),
  ],
  workflow: [
    mistake('workflow', 'timeout', 'timeoutMs', () =>
      orchestrator.workflow('X', async () => undefined, given({ timeout: 1 })),
    ),
    mistake('agent', 'skils', 'skills', () =>
      orchestrator.workflow(given({ name: 'X', skils: [] }), async () => undefined),
    ),
  ],
  createRegistry: [
    mistake('createRegistry.limits', 'maxAgent', 'maxAgents', () =>
      registry.createRegistry({ limits: given({ maxAgent: 1 }) }),
    ),
  ],
  nacosResolver: [
    mistake('nacosResolver', 'namespaceID', 'namespaceId', () =>
      registry.nacosResolver(url, given({ namespaceID: '' })),
    ),
  ],
  registryClient: [
    mistake('registryClient', 'header', 'headers', () => registry.registryClient(url, given({ header: {} }))),
    mistake('list', 'tags', 'tag', () => registry.registryClient(url).list(given({ tags: 'x' }))),
    mistake('withdraw', 'instnace', 'instance', () =>
      registry.registryClient(url).withdraw('x', given({ instnace: 1 })),
    ),
  ],
  registryResolver: [
    mistake('registryResolver', 'cacheMS', 'cacheMs', () => registry.registryResolver(url, given({ cacheMS: 1 }))),
  ],
  serveRegistry: [
    mistake('serveRegistry', 'prot', 'port', () => registry.serveRegistry(given({ prot: 8848 }))),
    mistake('serveRegistry.probes', 'interval', 'intervalMs', () =>
      registry.serveRegistry({ probes: given({ interval: 1 }) }),
    ),
  ],
  createConsole: [
    mistake('createConsole', 'agent', 'agents', () => consoleEntry.createConsole(given({ agent: [url] }))),
  ],
  serveConsole: [mistake('serveConsole', 'prot', 'port', () => consoleEntry.serveConsole(given({ prot: 8010 })))],
}

/** Functions and classes that take no options. */
const without: readonly string[] = [
  ...['A2AError', 'AddressRefused', 'TransportError', 'RegistryError', 'StepError', 'StepResult'],
  ...['allOf', 'withScopes'],
  ...['data', 'text', 'textOf', 'isAgent', 'isInterrupted', 'isTerminal', 'systemClock', 'graphOf'],
  ...['expressMount', 'fastifyMount', 'honoMount', 'nextMount', 'toNodeListener', 'validateCard', 'viewTask'],
  ...['collect', 'createCardCache', 'createTokenStore', 'exampleAnswer', 'fieldsOf', 'formAnswer', 'readField'],
  ...['schemaOf', 'fileResolver', 'staticResolver', 'basicCredential', 'bearerCredential'],
  ...['bindingsOf', 'chosenDialects', 'findDialect', 'hasTasks'],
  ...['answerApproval', 'asChatTransport', 'asModel', 'asTools', 'fromJsonSchema', 'step'],
]

function invalid(owner: string, problem: string, write: string, call: () => unknown): Mistake {
  return [`Invalid option of ${owner}: ${problem}. Write ${write}`, call]
}

function handlerWith(problem: string, write: string, options: object): Mistake {
  return invalid('createHandler', problem, write, () => server.createHandler(shout, given(options)))
}

function advancedWith(problem: string, write: string, advanced: object): Mistake {
  return invalid('createHandler.advanced', problem, write, () =>
    server.createHandler(shout, { advanced: given(advanced) }),
  )
}

function serveWith(problem: string, write: string, options: object): Mistake {
  return invalid('serve', problem, write, () => main.serve(shout, given(options)))
}

const yesOrNo = '`true` or `false`'

const emptyAuth = "`auth` is an empty list: name a scheme, or set `auth: 'none'`"

/** Values that would open access, or have an effect that differs from the one that the name promises. */
const unsafeValues: readonly Mistake[] = [
  [emptyAuth, () => server.createHandler(shout, { auth: [] })],
  [emptyAuth, () => main.serve(shout, { auth: [] })],
  [emptyAuth, () => testAgent(shout, { auth: [] })],
  advancedWith('protectCard is a string', yesOrNo, { protectCard: 'true' }),
  advancedWith('assumeV1 is a string', yesOrNo, { assumeV1: 'false' }),
  advancedWith('errors is an unknown string', "'1.0.0' or '1.0.1'", { errors: '1.0' }),
  advancedWith('protectCard is null', yesOrNo, { protectCard: null }),
  invalid('serve.advanced', 'grpc is a string', yesOrNo, () =>
    main.serve(shout, { advanced: given({ grpc: 'false' }) }),
  ),
  serveWith('metrics is a string', `${yesOrNo}, or an object: { port: … }`, { metrics: 'true' }),
  invalid('serve.advanced.engine', 'pushSecrets is an unknown string', "'creator', 'owner' or 'never'", () =>
    main.serve(shout, { advanced: { engine: given({ pushSecrets: 'none' }) } }),
  ),
  invalid('createEngine', 'cancelTwice is a boolean', "'task' or 'error'", () =>
    engine.createEngine(shout, given({ store, cancelTwice: true })),
  ),
  invalid('createHandler.push', 'allowHosts is a string', "a list of strings: ['…']", () =>
    server.createHandler(shout, { push: given({ allowHosts: 'localhost' }) }),
  ),
  invalid('createHandler.push', 'allowHosts is a list of other values', "a list of strings: ['…']", () =>
    server.createHandler(shout, { push: { allowHosts: [given(/localhost/)] } }),
  ),
  invalid('createHandler.push', 'events is an unknown string', "'all' or 'statuses'", () =>
    server.createHandler(shout, { push: given({ events: 'status' }) }),
  ),
  handlerWith('push is a boolean', 'an object: { timeoutMs: … }', { push: true }),
  invalid('createHandler.routes[0]', 'isPublic is a string', yesOrNo, () =>
    server.createHandler(shout, { routes: [given({ path: '/x', answer: () => undefined, isPublic: 'false' })] }),
  ),
  invalid('apiKey', 'location is an unknown string', "'header', 'query' or 'cookie'", () =>
    main.apiKey('k', given({ location: 'body' })),
  ),
  invalid('apiKeyCredential', 'location is an unknown string', "'header', 'query' or 'cookie'", () =>
    client.apiKeyCredential('k', given({ location: 'body' })),
  ),
  invalid('openSqliteStore', 'durability is an unknown string', "'process' or 'full'", () =>
    sqlite.openSqliteStore(':memory:', given({ durability: 'ful' })),
  ),
  invalid(
    'connect',
    'signatures is an unknown string',
    "'require', 'warn' or 'ignore', or an object: { policy: … }",
    () => client.connect(url, given({ signatures: 'required' })),
  ),
]

const aStore = "a store, such as `new MemoryStore()`, or an address, such as 'sqlite:tasks.sqlite'"
const onlyAStore = 'a store, such as `new MemoryStore()` or `await openSqliteStore(…)`'
const needsFunctions = 'simpleStore needs the functions `save`, `load` and `list`;'
const storage = { save: async () => undefined, load: async () => undefined, list: async () => [] }

const stores: readonly Mistake[] = [
  handlerWith('store is a promise', '`store: await …`', { store: simple.simpleStore(storage) }),
  serveWith('store is a promise', '`store: await …`', { store: simple.simpleStore(storage) }),
  serveWith('store is an object without `append`', aStore, { store: {} }),
  serveWith('store is null', aStore, { store: null }),
  invalid('createEngine', 'store is a string', onlyAStore, () =>
    engine.createEngine(shout, given({ store: 'memory' })),
  ),
  invalid('createRegistry', 'store is a promise', '`store: await …`', () =>
    registry.createRegistry(given({ store: simple.simpleStore(storage) })),
  ),
  invalid('openStorePush', 'store is a promise', '`store: await …`', () =>
    server.openStorePush(given(simple.simpleStore(storage))),
  ),
  [`${needsFunctions} \`list\` is missing`, () => simple.simpleStore(given({ ...storage, list: undefined }))],
  [`${needsFunctions} \`save\` is missing`, () => simple.simpleStore(given(new Map()))],
  [
    'Unknown option of simpleStore: delete. Its options are save, load, list, remove, ping, close',
    () => simple.simpleStore(given({ ...storage, delete: async () => undefined })),
  ],
]

const unset = undefined as never
const needsSecret = 'needs a secret, or an object with callers by their secrets; got'

const secrets: readonly Mistake[] = [
  [`apiKey ${needsSecret} undefined`, () => main.apiKey(unset)],
  [`apiKey ${needsSecret} a list`, () => main.apiKey(given(['one', 'two']))],
  ['apiKey needs a secret; got undefined', () => main.apiKey({ [unset]: 'ann' })],
  [`bearer ${needsSecret} undefined`, () => main.bearer(unset)],
  ['apiKeyCredential needs a key; got undefined', () => client.apiKeyCredential(unset)],
  ['bearerCredential needs a token; got undefined', () => client.bearerCredential(unset)],
  ['basicCredential needs a user and a password; got undefined', () => client.basicCredential('ann', unset)],
]

const choices: readonly Mistake[] = [
  handlerWith('dialects is an unknown string', "'all', or a list: ['v1']", { dialects: 'v1' }),
  advancedWith('card is an unknown string', "'hybrid', 'v1', 'v0.3' or 'chat-rpc'", { card: '0.3' }),
  invalid('connect', 'binding is an unknown string', "'JSONRPC', 'HTTP+JSON' or 'GRPC'", () =>
    client.connect(url, given({ binding: 'grpc' })),
  ),
  invalid(
    'connect',
    'dialect is an unknown string',
    "'v1', 'v0.3', 'v0.1', 'v0.1-go', 'task-rest', 'invoke' or 'chat-rpc'",
    () => client.connect(url, given({ dialect: 'v2' })),
  ),
]

const aNumber = 'a finite number, 0 or more'

const earlier = 'an integer from 0 to 100'

const numbersAndLists: readonly Mistake[] = [
  ...['5', 101, -1, 1.5].flatMap((maxEarlierTasks) => {
    const problem = `maxEarlierTasks is ${typeof maxEarlierTasks === 'string' ? 'a string' : maxEarlierTasks}`
    return [
      invalid('fromAiSdk', problem, earlier, () => aiSdk.fromAiSdk(given({}), 'X', given({ maxEarlierTasks }))),
      invalid('fromOpenAiAgent', problem, earlier, () =>
        openaiAgents.fromOpenAiAgent(given({}), 'X', given({ maxEarlierTasks })),
      ),
    ]
  }),
  invalid('mcpEndpoint', 'path is a number', 'a string', () => mcp.mcpEndpoint(given({ path: 5 }))),
  invalid('agUiEndpoint', 'path is a number', 'a string', () => agUi.agUiEndpoint(given({ path: 5 }))),
  invalid('chatEndpoint', 'path is a number', 'a string', () => aiSdk.chatEndpoint(given({ path: 5 }))),
  advancedWith('heartbeatMs is a string', aNumber, { heartbeatMs: '15' }),
  advancedWith('heartbeatMs is infinite', aNumber, { heartbeatMs: Number.POSITIVE_INFINITY }),
  invalid('createHandler.advanced.retention', 'endedTasksMs is a negative number', aNumber, () =>
    server.createHandler(shout, { advanced: { retention: { endedTasksMs: -1 } } }),
  ),
  invalid('createHandler.advanced.engine', 'leaseMs is NaN', aNumber, () =>
    server.createHandler(shout, { advanced: { engine: { leaseMs: Number.NaN } } }),
  ),
  invalid('createHandler.advanced.engine', 'stallMs is a string', aNumber, () =>
    server.createHandler(shout, { advanced: { engine: given({ stallMs: '1' }) } }),
  ),
  invalid('createHandler.limits', 'runs is a string', 'a number, 0 or more', () =>
    server.createHandler(shout, { limits: given({ runs: '1' }) }),
  ),
  invalid('serve.advanced.deadlines', 'bodyMs is a string', aNumber, () =>
    main.serve(shout, { advanced: { deadlines: given({ bodyMs: '60s' }) } }),
  ),
  invalid('connect', 'timeoutMs is a string', 'a number, 0 or more', () =>
    client.connect(url, given({ timeoutMs: '5' })),
  ),
  invalid('connect.retry', 'attempts is a string', 'a number, 0 or more', () =>
    client.connect(url, { retry: given({ attempts: '2' }) }),
  ),
  invalid('connect', 'onWarning is a string', 'a function', () => client.connect(url, given({ onWarning: 'log' }))),
  serveWith('port is a number above 65535', 'an integer from 0 to 65535', { port: 70_000 }),
  serveWith('port is a string', 'an integer from 0 to 65535', { port: '8001' }),
  advancedWith('tenants is a string', "a list of strings: ['…']", { tenants: 'acme' }),
  advancedWith('wrap is a number', 'a function', { wrap: 3 }),
  invalid('agent', 'skills is a string', 'a list: [{ id: … }]', () =>
    main.agent(given({ name: 'X', skills: 'abc' }), handle),
  ),
  [
    "agent.skills[1] needs an id: { id: 'shout' }",
    () => main.agent(given({ name: 'X', skills: [{ id: 'a' }, { name: 'b' }] }), handle),
  ],
]

describe('values of the wrong kind', () => {
  it.each([...unsafeValues, ...stores, ...secrets, ...choices, ...numbersAndLists])('%s', async (expected, call) => {
    await expect((async () => await call())()).rejects.toThrow(new TypeError(expected))
  })
})

describe('options that copies would lose', () => {
  const problem = (owner: string) => `Invalid option of ${owner}: auth is inherited or not enumerable`

  it('are refused if they are inherited, getters of a class, or not enumerable', async () => {
    class Config {
      port = 0
      get auth() {
        return [main.apiKey('secretsecretsecretsecret')]
      }
    }
    const inherited: object = Object.create({ auth: main.apiKey('secretsecretsecretsecret') })
    const hidden = Object.defineProperty({}, 'auth', { value: main.apiKey('secretsecretsecretsecret') })
    for (const options of [new Config(), inherited, hidden])
      await expect(main.serve(shout, given(options))).rejects.toThrow(problem('serve'))
    await expect(server.createHandler(shout, given(inherited))).rejects.toThrow(problem('createHandler'))
  })

  it('are refused in nested options', async () => {
    const advanced: object = Object.create({ protectCard: true })
    await expect(server.createHandler(shout, { advanced: given(advanced) })).rejects.toThrow(
      'Invalid option of createHandler.advanced: protectCard is inherited or not enumerable',
    )
  })
})

describe('unknown options', () => {
  it('are tried on every public function', () => {
    const servers = [main, server, auth, registry, cloudflare, consoleEntry, orchestrator]
    const others = [agUi, aiSdk, langgraph, mcp, openai, openaiAgents]
    const entries = [...servers, ...others, model, client, dialects, engine, net, postgres, simple, sqlite]
    // Beside them: `./testing`, `./proto/*` and `./package.json`.
    expect(Object.keys(manifest.exports)).toHaveLength(entries.length + 3)
    const names = entries.flatMap((entry) =>
      Object.entries(entry).flatMap(([name, value]) => (typeof value === 'function' ? [name] : [])),
    )
    expect([...new Set(names)].sort()).toEqual([...Object.keys(functions), ...without].sort())
  })

  it.each(Object.values(functions).flat())('%s', async (expected, call) => {
    await expect((async () => await call())()).rejects.toThrow(new TypeError(expected))
  })

  it('are refused in calls', async () => {
    await using served = await main.serve(shout)
    await using agent = await client.connect(served.url)
    const wrong = given({ timeout: 5 })
    const expected = (owner: string) => `Unknown option of ${owner}: timeout. Did you mean \`timeoutMs\`?`
    await expect(agent.ask('hi', wrong)).rejects.toThrow(expected('ask'))
    expect(() => agent.stream('hi', wrong)).toThrow(expected('stream'))
    await expect(agent.conversation().ask('hi', wrong)).rejects.toThrow(expected('ask'))
    expect(() => agent.conversation(given({ contextID: 'c' }))).toThrow('Did you mean `contextId`?')
    await expect(agent.task('t').wait(wrong)).rejects.toThrow(expected('wait'))
    expect(() => agent.task('t').watch(given({ signals: 1 }))).toThrow('Did you mean `signal`?')
    await expect(served.push.deadLetters(given({ agnet: 'Shout' }))).rejects.toThrow('Did you mean `agent`?')
    await expect(served.provideCredential(given({ taskId: 't', credential: 'c', callr: 'ann' }))).rejects.toThrow(
      'Unknown option of provideCredential: callr. Did you mean `caller`?',
    )
    await expect(served.close(given({ deadline: 1 }))).rejects.toThrow('Did you mean `deadlineMs`?')
  })

  it('are refused in turns and steps', async () => {
    const messages: string[] = []
    const failing = async (work: () => Promise<unknown>) => {
      messages.push(await work().then(String, (error: Error) => error.message))
    }
    const turns = main.agent('Turns', async function* (turn) {
      await failing(() => turn.call('Shout', 'hi', given({ taskID: 't' })))
      await failing(() => turn.earlier(given({ limits: 3 })))
      await failing(() => turn.checkpoint('key', 1, given({ fromReserv: true })))
      yield 'done'
    })
    const steps = orchestrator.workflow('Steps', async (flow) => {
      await failing(() => flow.step('one', given({ agent: 'Shout', message: 'hi', retrys: { attempts: 2 } })))
      await failing(() => flow.step('two', given({ agent: 'Shout', message: 'hi', retry: { attempt: 2 } })))
      await failing(() => flow.each('three', [1], () => ({ agent: 'Shout', message: 'hi' }), given({ concurency: 1 })))
      await failing(() => flow.ask('four', 'really?', given({ shema: {} })))
      return 'done'
    })
    await using served = await main.serve([shout, turns, steps])
    for (const { url: address } of served.agents.slice(1)) {
      await using agent = await client.connect(address)
      expect(await agent.ask('go')).toMatchObject({ text: 'done' })
    }
    expect(messages).toEqual([
      'Unknown option of turn.call: taskID. Did you mean `taskId`?',
      'Unknown option of turn.earlier: limits. Did you mean `limit`?',
      'Unknown option of turn.checkpoint: fromReserv. Did you mean `fromReserve`?',
      'Unknown option of the step one: retrys. Did you mean `retry`?',
      'Unknown option of the step two.retry: attempt. Did you mean `attempts`?',
      'Unknown option of each: concurency. Did you mean `concurrency`?',
      'Unknown option of ask: shema. Did you mean `schema`?',
    ])
  })
})
