/**
 * The suite that every dialect passes: facts that match the forms, round trips of every operation, errors, streams,
 * cards and webhook bodies. It takes the runner's `describe` and `it` and asserts with `node:assert`, so that it runs
 * in any test runner. Both sides run in memory, without a transport.
 */
import assert from 'node:assert/strict'
import type { AgentCard } from '../model/agent-card.js'
import { A2AError, errorCodes } from '../model/errors.js'
import type { StreamResponse } from '../model/event.js'
import type { Operation } from '../model/operations.js'
import { textOf } from '../model/part.js'
import { clientDialects } from './clients.js'
import { bindingsOf, type DialectFacts } from './dialect.js'
import {
  about,
  artifact,
  callFacts,
  codecOf,
  config,
  type DialectSides,
  type FormSides,
  formsOf,
  onWire,
  present,
  requests,
  task,
  text,
} from './dialect-forms.contract.js'
import { createRouter } from './rest-route.js'
import { serverDialects } from './servers.js'

interface Runner {
  describe(name: string, body: () => void): void
  it(name: string, body: () => Promise<void>): void
}

/**
 * Registers the suite for a dialect.
 *
 * ```ts
 * dialectContract({ describe, it }, { server: myDialect, client: myClientDialect })
 * ```
 */
export function dialectContract({ describe, it }: Runner, sides: DialectSides): void {
  const { server, client } = sides
  const check = (name: string, body: () => void) => it(name, async () => body())
  describe(`The dialect ${server.name}`, () => {
    factsContract(check, sides)
    for (const form of formsOf(sides)) describe(`over ${form.name}`, () => formContract(check, form))
    if (server.card && client.card) cardContract(check, sides)
    if (server.push && client.toPushFrame) pushContract(check, sides)
  })
}

type Check = (name: string, body: () => void) => void

const events: readonly StreamResponse[] = [
  { task: { ...task, status: { state: 'TASK_STATE_WORKING' }, artifacts: [] } },
  { artifactUpdate: { ...about, artifact, append: false, lastChunk: true } },
  { statusUpdate: { ...about, status: task.status } },
]

/** The card of an agent that offers every binding in this dialect. */
function sampleCard({ cardVersion = '' }: DialectFacts): AgentCard {
  const interfaces = ['JSONRPC', 'HTTP+JSON'].map((protocolBinding) => ({
    url: 'https://agent.example',
    protocolBinding,
    protocolVersion: cardVersion,
  }))
  return {
    name: 'Adder',
    description: 'Adds numbers',
    version: '1.2.3',
    iconUrl: 'https://agent.example/icon.png',
    supportedInterfaces: interfaces,
    capabilities: { streaming: true, pushNotifications: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'add', name: 'Add', description: 'Adds', tags: ['numbers'] }],
  }
}

/** Texts that must arrive with the request of each operation. */
const inRequest: { readonly [O in Operation]?: readonly string[] } = {
  sendMessage: ['Add 40 and 2'],
  sendStreamingMessage: ['Add 40 and 2'],
  getTask: ['"t1"'],
  cancelTask: ['"t1"'],
  subscribeToTask: ['"t1"'],
  createTaskPushNotificationConfig: ['"t1"', config.url],
  getTaskPushNotificationConfig: ['"t1"'],
  listTaskPushNotificationConfigs: ['"t1"'],
  deleteTaskPushNotificationConfig: ['"t1"'],
}

/** The result of each operation with one response, and texts that must arrive with it. */
function resultOf(operation: Operation, facts: DialectFacts): readonly [unknown, readonly string[]] | undefined {
  switch (operation) {
    case 'sendMessage':
      return [{ task }, [text]]
    case 'getTask':
    case 'cancelTask':
      return [task, ['"t1"', 'TASK_STATE_COMPLETED', text]]
    case 'listTasks':
      return [{ tasks: [task], totalSize: 1, pageSize: 1, nextPageToken: '' }, ['"t1"', 'TASK_STATE_COMPLETED']]
    case 'createTaskPushNotificationConfig':
    case 'getTaskPushNotificationConfig':
      return [config, ['"t1"', config.url]]
    case 'listTaskPushNotificationConfigs':
      return [{ configs: [config], nextPageToken: '' }, ['"t1"', config.url]]
    case 'deleteTaskPushNotificationConfig':
      return [undefined, []]
    case 'getExtendedAgentCard':
      return [sampleCard(facts), ['Adder', 'https://agent.example']]
    default:
      return undefined
  }
}

function factsContract(check: Check, { server, client }: DialectSides): void {
  check('states the same facts on both sides', () => {
    for (const fact of sharedFacts) assert.deepEqual(client[fact], server[fact], fact)
    assert.deepEqual([...bindingsOf(client)].sort(), [...bindingsOf(server)].sort(), 'bindings')
    assert.ok(bindingsOf(server).length > 0, 'a dialect has at least one form')
  })

  check('states facts that fit together', () => {
    if (server.requiresVersion) assert.ok(server.versions.length > 0, 'callers must have a version to name')
    if (server.isListed) assert.ok(server.cardVersion, 'listed interfaces have a version')
    const hasOwnPaths = server.rest !== undefined || server.jsonrpc?.paths !== undefined
    if (server.versions.length === 0)
      assert.ok(hasOwnPaths || server.defaultPath, 'a dialect without versions is recognised by its paths')
  })

  check('has an example that its server understands', () => {
    const { path, body } = server.example
    const { method, params } = body as { readonly method?: string; readonly params?: unknown }
    const rpc = server.jsonrpc?.methods.get(method ?? '')
    const isRpc = rpc !== undefined && (server.jsonrpc?.paths ?? ['']).includes(path)
    const route = createRouter(server.rest?.routes ?? [])('POST', path)
    const codec = isRpc ? server.jsonrpc?.operations[rpc] : route && codecOf(server.rest, route)
    assert.ok(codec, `nothing answers POST ${path}`)
    assert.match(JSON.stringify(codec.decode(isRpc ? params : body, callFacts())), /"hi"/)
  })
}

const sharedFacts = [
  'name',
  'versions',
  'acceptedVersions',
  'requiresVersion',
  'extensionsHeader',
  'cardVersion',
  'isListed',
  'hasTenants',
] as const satisfies readonly (keyof DialectFacts)[]

function formContract(check: Check, form: FormSides): void {
  for (const operation of form.operations) {
    check(`carries the request of ${operation}`, () => {
      const read = JSON.stringify(form.ask(operation, requests[operation]))
      for (const expected of inRequest[operation] ?? []) assert.ok(read.includes(expected), `${expected} in ${read}`)
    })

    const [result, texts] = resultOf(operation, form.facts) ?? []
    if (texts)
      check(`carries the result of ${operation}`, () => {
        const read = JSON.stringify(form.answer(operation, result, requests[operation])) ?? ''
        for (const expected of texts) assert.ok(read.includes(expected), `${expected} in ${read}`)
      })
    else
      check(`carries the stream of ${operation}`, () => {
        const { send, end, decoder } = form.follow(operation)
        const frames = [...events.flatMap(send), ...end()]
        const read = JSON.stringify(frames.flatMap((frame) => decoder.decode(frame)))
        assert.ok(read.includes(text), `${text} in ${read}`)
        assert.match(read, /TASK_STATE_COMPLETED|"message":/, 'the end of the task, or a Message')
      })

    check(`answers junk in ${operation} with errors of the protocol`, () => {
      for (const junk of [undefined, null, 5, 'junk', [], {}, { message: 5, id: {}, task: [], status: null }]) {
        onlyA2AErrors(() => form.decode(operation, junk))
        onlyA2AErrors(() => form.read(operation, junk))
      }
    })
  }

  if (form.operations.includes('sendStreamingMessage'))
    check('carries every chunk of a streamed text', () => {
      const { send, end, decoder } = form.follow('sendStreamingMessage')
      const texts = ['a ', '"b"\n', '\u0000', '9007199254740991', '\ud83d\ude00', 'f', '\\g']
      const chunks = texts.map((each, place): StreamResponse => {
        const isLast = place === texts.length - 1
        const chunk = { artifactId: artifact.artifactId, parts: [{ text: each }] }
        return { artifactUpdate: { ...about, artifact: chunk, append: place > 0, lastChunk: isLast } }
      })
      const [first, , last] = events
      const frames = [first, ...chunks, last].flatMap((event) => (event ? send(event) : []))
      let received = ''
      for (const frame of [...frames, ...end()])
        for (const event of decoder.decode(frame))
          if ('artifactUpdate' in event) received += textOf(event.artifactUpdate.artifact)
          else if ('message' in event) received += textOf(event.message)
      assert.equal(received, texts.join(''))
    })

  check('refuses a message without content', () => {
    assert.throws(() => form.decode('sendMessage', 5), { code: 'INVALID_PARAMS' })
  })

  check('carries every error, without its cause', () => {
    for (const code of errorCodes) {
      const { decoded, wire } = form.fail(new A2AError(code, `Failed with ${code}`, { cause: new Error('secret') }))
      assert.ok(decoded instanceof A2AError, code)
      assert.ok(!wire.includes('secret'), `${code} shows its cause`)
    }
    const { decoded } = form.fail(new A2AError('TASK_NOT_FOUND', 'Task not found: t1'))
    if (form.operations.includes('getTask')) assert.equal(decoded.code, 'TASK_NOT_FOUND')
    assert.match(decoded.message, /Task not found: t1/)
  })
}

function onlyA2AErrors(run: () => unknown): void {
  try {
    run()
  } catch (error) {
    assert.ok(error instanceof A2AError, `${String(error)} is no A2AError`)
  }
}

function cardContract(check: Check, { server, client }: DialectSides): void {
  const encoded = () => onWire(server.card?.encode(sampleCard(server))) as Record<string, unknown>

  check('recognises and reads its own card', () => {
    const form = present(client.card, 'the card form')
    assert.ok(form.recognise(encoded()), 'recognised')
    const { name, supportedInterfaces } = form.decode(encoded())
    assert.equal(name, 'Adder')
    assert.match(supportedInterfaces[0]?.url ?? '', /^https:\/\/agent\.example/)
  })

  check('is not certain of the cards of others', () => {
    for (const other of clientDialects) {
      const source = serverDialects.find(({ name }) => name === other.name && name !== client.name)
      const card = source && (onWire(source.card?.encode(sampleCard(source))) as Record<string, unknown> | undefined)
      if (!card || other.card?.recognise(card) !== 'certain') continue
      assert.notEqual(client.card?.recognise(card), 'certain', `the card of ${other.name}`)
    }
    for (const junk of [{}, { name: 'Adder' }, { name: 5, url: [], skills: {} }])
      assert.notEqual(client.card?.recognise(junk), 'certain')
  })
}

function pushContract(check: Check, { server: { push }, client }: DialectSides): void {
  check('recognises and reads its own webhook bodies', () => {
    if (!push) return
    const update: StreamResponse = { statusUpdate: { ...about, status: task.status } }
    const body = JSON.parse('encodeTask' in push ? push.encodeTask(task) : push.encodeEvent(update)) as Record<
      string,
      unknown
    >
    const data = client.toPushFrame?.(body)
    assert.notEqual(data, undefined, 'recognised')
    const call = {
      operation: 'subscribeToTask',
      request: { id: 't1' },
      sent: { id: 't1' },
      facts: callFacts(),
    } as const
    const read = JSON.stringify((client.jsonrpc ?? client.rest)?.createStreamDecoder(call).decode({ data }))
    assert.match(read, /"t1".*TASK_STATE_COMPLETED|TASK_STATE_COMPLETED.*"t1"/)
  })

  check('recognises no other objects as webhook bodies', () => {
    for (const junk of [{}, { name: 'Adder' }, { id: 5 }]) assert.equal(client.toPushFrame?.(junk), undefined)
  })
}
