import { type Agent, agent, apiKey, artifact, data } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { bindings, type Json, testServer, userMessage } from './fixture.js'
import { proves } from './proves.js'

/**
 * Every object of v1.0 by its members: `!` is required, `[]` an array, `{}` a map, `a|b|…` exactly one
 * of. Objects are closed: a member that is not here must not be sent.
 */
const shapes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Task: {
    id: 'string!',
    contextId: 'string!',
    status: 'TaskStatus!',
    artifacts: 'Artifact[]',
    history: 'Message[]',
    metadata: 'Struct',
  },
  TaskStatus: { state: 'TaskState!', message: 'Message', timestamp: 'Timestamp' },
  Message: {
    messageId: 'string!',
    contextId: 'string',
    taskId: 'string',
    role: 'Role!',
    parts: 'Part[]!',
    metadata: 'Struct',
    extensions: 'string[]',
    referenceTaskIds: 'string[]',
  },
  Part: {
    'text|raw|url|data': 'oneof',
    text: 'string',
    raw: 'bytes',
    url: 'string',
    data: 'Value',
    metadata: 'Struct',
    filename: 'string',
    mediaType: 'string',
  },
  Artifact: {
    artifactId: 'string!',
    name: 'string',
    description: 'string',
    parts: 'Part[]!',
    metadata: 'Struct',
    extensions: 'string[]',
  },
  TaskStatusUpdateEvent: { taskId: 'string!', contextId: 'string!', status: 'TaskStatus!', metadata: 'Struct' },
  TaskArtifactUpdateEvent: {
    taskId: 'string!',
    contextId: 'string!',
    artifact: 'Artifact!',
    append: 'boolean',
    lastChunk: 'boolean',
    metadata: 'Struct',
  },
  SendMessageResponse: { 'task|message': 'oneof', task: 'Task', message: 'Message' },
  StreamResponse: {
    'task|message|statusUpdate|artifactUpdate': 'oneof',
    task: 'Task',
    message: 'Message',
    statusUpdate: 'TaskStatusUpdateEvent',
    artifactUpdate: 'TaskArtifactUpdateEvent',
  },
  ListTasksResponse: { tasks: 'Task[]!', nextPageToken: 'string!', pageSize: 'int32!', totalSize: 'int32!' },
  PushConfig: {
    tenant: 'string',
    id: 'string!',
    taskId: 'string!',
    url: 'string!',
    token: 'string',
    authentication: 'AuthenticationInfo',
  },
  AuthenticationInfo: { scheme: 'string!', credentials: 'string' },
  ListPushConfigsResponse: { configs: 'PushConfig[]', nextPageToken: 'string' },
  AgentCard: {
    name: 'string!',
    description: 'string!',
    supportedInterfaces: 'AgentInterface[]!',
    provider: 'AgentProvider',
    version: 'string!',
    documentationUrl: 'string',
    capabilities: 'AgentCapabilities!',
    securitySchemes: 'SecurityScheme{}',
    securityRequirements: 'SecurityRequirement[]',
    defaultInputModes: 'string[]!',
    defaultOutputModes: 'string[]!',
    skills: 'AgentSkill[]!',
    iconUrl: 'string',
  },
  AgentInterface: { url: 'string!', protocolBinding: 'string!', tenant: 'string', protocolVersion: 'string!' },
  AgentProvider: { url: 'string!', organization: 'string!' },
  AgentCapabilities: {
    streaming: 'boolean',
    pushNotifications: 'boolean',
    extensions: 'AgentExtension[]',
    extendedAgentCard: 'boolean',
  },
  AgentExtension: { uri: 'string', description: 'string', required: 'boolean', params: 'Struct' },
  AgentSkill: {
    id: 'string!',
    name: 'string!',
    description: 'string!',
    tags: 'string[]!',
    examples: 'string[]',
    inputModes: 'string[]',
    outputModes: 'string[]',
    securityRequirements: 'SecurityRequirement[]',
  },
  SecurityRequirement: { schemes: 'StringList{}' },
  StringList: { list: 'string[]' },
  SecurityScheme: { apiKeySecurityScheme: 'APIKeySecurityScheme' },
  APIKeySecurityScheme: { description: 'string', location: 'string!', name: 'string!' },
}

const scalars: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  int32: (value) => typeof value === 'number' && value === (value | 0),
  bytes: (value) =>
    typeof value === 'string' && /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value),
  Timestamp: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value),
  TaskState: (value) =>
    /^TASK_STATE_(SUBMITTED|WORKING|COMPLETED|FAILED|CANCELED|INPUT_REQUIRED|REJECTED|AUTH_REQUIRED)$/.test(
      String(value),
    ),
  Role: (value) => value === 'ROLE_USER' || value === 'ROLE_AGENT',
  Struct: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  Value: () => true,
}

/** The violations of a value against its type, by path. */
function faults(value: unknown, type: string, path = type): string[] {
  const bare = type.replace(/!$/, '')
  if (bare.endsWith('[]')) {
    if (!Array.isArray(value)) return [`${path} is no array`]
    const isEmpty = type.endsWith('!') && value.length === 0 && path !== 'ListTasksResponse.tasks'
    return isEmpty
      ? [`${path} is empty`]
      : value.flatMap((each, place) => faults(each, bare.slice(0, -2), `${path}[${place}]`))
  }
  if (bare.endsWith('{}'))
    return Object.entries(value as Json).flatMap(([name, each]) => faults(each, bare.slice(0, -2), `${path}.${name}`))
  const shape = shapes[bare]
  if (!shape) return scalars[bare]?.(value) ? [] : [`${path} is no ${bare}: ${JSON.stringify(value)}`]
  if (!scalars.Struct?.(value)) return [`${path} is no object`]
  const found = Object.entries(value as Json).flatMap(([name, each]) => {
    const member = shape[name]
    return member ? faults(each, member, `${path}.${name}`) : [`${path}.${name} is no member of ${bare}`]
  })
  for (const [name, member] of Object.entries(shape)) {
    const present = name.split('|').filter((each) => each in (value as Json))
    if (member === 'oneof' && present.length !== 1) found.push(`${path} has ${present.length} of ${name}`)
    if (member.endsWith('!') && present.length === 0) found.push(`${path}.${name} is missing`)
  }
  return found
}

const capabilities = {
  pushNotifications: true,
  extendedAgentCard: true,
  extensions: [{ uri: 'urn:test:x', required: false }],
}
const complete: Agent = { ...echoAgent, card: { ...echoAgent.card, capabilities, extendedCard: (card) => card } }

describe.each(bindings)('what is sent over %s', (binding) => {
  it.each(['hello', 'msg hi', 'chunks 2', 'ask', 'auth', 'fail', 'reject', 'crash', 'file', 'data'])(
    proves(
      ['R-JSON-1', 'R-JSON-3', 'R-JSON-7', 'R-JSON-9', 'R-JSON-11', 'R-JSON-13'],
      'has the members of v1.0 and no others, in answer to %j',
    ),
    async (text) => {
      await using server = await testServer(echoAgent)
      const client = server.over(binding)
      const message = userMessage(text)
      expect(faults(await client.call('SendMessage', { message }), 'SendMessageResponse')).toEqual([])
      const stream = await client.stream('SendStreamingMessage', { message })
      const events = await stream.until(
        (event) => 'statusUpdate' in event && event.statusUpdate.status.state !== 'TASK_STATE_WORKING',
      )
      await stream.close()
      expect(events.length).toBeGreaterThan(0)
      expect(events.flatMap((event) => faults(event.data, 'StreamResponse'))).toEqual([])
      const list = await client.call('ListTasks', { includeArtifacts: true })
      expect(faults(list, 'ListTasksResponse')).toEqual([])
    },
  )

  it(proves(['R-JSON-1', 'R-JSON-13'], 'has no other members in configs and cards either'), async () => {
    await using server = await testServer(complete, { auth: [apiKey('secret')], advanced: { tenants: ['acme'] } })
    const client = server.over(binding, { 'X-API-Key': 'secret' })
    const { id: taskId } = await client.send('hello')
    const config = {
      taskId,
      url: 'https://client.example/hook',
      token: 't',
      authentication: { scheme: 'Bearer', credentials: 'c' },
    }
    expect(faults(await client.call('CreateTaskPushNotificationConfig', config), 'PushConfig')).toEqual([])
    expect(faults(await client.call('ListTaskPushNotificationConfigs', { taskId }), 'ListPushConfigsResponse')).toEqual(
      [],
    )
    expect(faults(await client.call('GetExtendedAgentCard'), 'AgentCard')).toEqual([])
    expect(faults((await server.rest('GET', '/.well-known/agent-card.json')).body, 'AgentCard')).toEqual([])
  })

  it(proves('R-JSON-4', 'has its required members also when they say nothing'), async () => {
    await using server = await testServer(echoAgent)
    expect(await server.over(binding).call('ListTasks')).toEqual({
      tasks: [],
      nextPageToken: '',
      pageSize: 50,
      totalSize: 0,
    })
  })

  it(proves('R-JSON-14', 'is UTF-8, as what was received is'), async () => {
    await using server = await testServer(echoAgent)
    const text = 'Grüße, 世界 👋\u2028\u0000'
    const task = await server.over(binding).send(text)
    expect(task.artifacts?.[0]?.parts).toEqual([{ text }])
    const stream = await server.over(binding).stream('SendStreamingMessage', { message: userMessage(text) })
    expect(
      (await stream.rest()).map(({ data: event }) => 'artifactUpdate' in event && event.artifactUpdate.artifact.parts),
    ).toContainEqual([{ text }])
  })

  it(proves('R-JSON-8', 'has null in data parts where the agent said so'), async () => {
    const nothing = agent('Nothing', async function* () {
      yield artifact('nothing', data(null))
    })
    await using server = await testServer(nothing)
    expect((await server.over(binding).send('x')).artifacts?.[0]?.parts).toEqual([
      { data: null, mediaType: 'application/json' },
    ])
  })
})
