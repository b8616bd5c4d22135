/** Our client against our server: every dialect over every binding, on one real port. */
import { bearer, type Served, serve } from 'dragoman'
import { type AgentClient, bearerCredential, type ConnectOptions, connect } from 'dragoman/client'
import { createHandler } from 'dragoman/server'
import { transportContract } from 'dragoman/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AgentService } from '../../src/model/service.js'
import { ownClient } from './own-client.js'
import { matrixAgent, scenarios } from './scenarios.js'

let served: Served
beforeAll(async () => {
  served = await serve(matrixAgent, { dialects: 'all' })
})
afterAll(() => served.close({ deadlineMs: 0 }))

const card = '/.well-known/agent.json'
const ways: readonly (readonly [options: ConnectOptions, path: string])[] = [
  [{}, '/'],
  [{ dialect: 'v1', binding: 'JSONRPC' }, '/'],
  [{ dialect: 'v1', binding: 'HTTP+JSON' }, '/'],
  [{ dialect: 'v1', binding: 'GRPC' }, '/'],
  [{ dialect: 'v0.3', binding: 'JSONRPC' }, '/'],
  [{ dialect: 'v0.3', binding: 'HTTP+JSON' }, '/'],
  [{ dialect: 'v0.3', binding: 'GRPC' }, '/'],
  [{ dialect: 'v0.1' }, card],
  [{ dialect: 'v0.1-go' }, `/go${card}`],
  [{ dialect: 'invoke' }, '/'],
  [{ dialect: 'invoke', binding: 'JSONRPC' }, '/'],
  [{ dialect: 'chat-rpc' }, '/'],
]

describe.each(ways)('our client with %j', (options, path) => {
  const open = (): Promise<AgentClient> => connect(new URL(path, served.url).href, options)

  it('uses the given dialect and binding', async () => {
    await using agent = await open()
    expect(agent.choice).toMatchObject(options)
    expect(agent.choice.reasons.length).toBeGreaterThan(0)
  })

  it.each(scenarios)('%s', async (_scenario, play) => {
    await using agent = await open()
    await play(ownClient(agent))
  })
})

const serverOptions = (service: AgentService, callerId: string | undefined) => ({
  log: false as const,
  advanced: { wrap: () => service },
  ...(callerId !== undefined && { auth: [bearer({ secret: callerId })] }),
})
const closeAll = async (client: AgentClient, server: Pick<Served, 'close'>) => {
  await client.close()
  await server.close({ deadlineMs: 0 })
}
const clientOptions = (callerId: string | undefined) => ({
  retry: { attempts: 1 },
  ...(callerId !== undefined && { credentials: bearerCredential('secret') }),
})

// Older dialects lack half of the suite's operations; the scenarios above cover them.
const fullWays = ways.filter(([{ dialect = '' }]) => dialect === 'v1' || dialect === 'v0.3')
describe.each(fullWays)('the transport of our client with %j', (options, path) => {
  const limits = options.dialect === 'v0.3' ? { without: ['listTasks'] as const, hasNoErrorDetails: true } : {}
  transportContract(
    { describe, it },
    async (service, { callerId }) => {
      const server = await serve(matrixAgent, serverOptions(service, callerId))
      const client = await connect(new URL(path, server.url).href, { ...options, ...clientOptions(callerId) })
      return { client, close: () => closeAll(client, server) }
    },
    limits,
  )
})

describe('the in-process transport of a service', () => {
  transportContract(
    { describe, it },
    async (service) => {
      const client = await connect(service)
      return { client, close: () => client.close() }
    },
    { hasNoCredentials: true },
  )
})

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('the in-process transport of a handler over %s', (binding) => {
  transportContract({ describe, it }, async (service, { callerId }) => {
    const handler = await createHandler(matrixAgent, serverOptions(service, callerId))
    const client = await connect(handler, { binding, ...clientOptions(callerId) })
    return { client, close: () => closeAll(client, handler) }
  })
})

it('creates one task for a send that is repeated over every interface with one key (E-10)', async () => {
  await using only = await serve(matrixAgent, { push: { allowHosts: ['localhost'] } })
  const message = { messageId: 'm1', role: 'ROLE_USER' as const, parts: [{ text: 'hi' }] }
  const taskPushNotificationConfig = { id: 'c1', url: 'http://localhost:9/hook', authentication: { scheme: 'Bearer' } }
  const configuration = { historyLength: 3, acceptedOutputModes: ['text/plain'], taskPushNotificationConfig }
  const interfaces = ways.filter(([{ dialect }]) => dialect === 'v1' || dialect === 'v0.3')
  const answers = []
  for (const [options] of interfaces) {
    await using agent = await connect(only.url, options)
    answers.push(await agent.sendMessage({ message, configuration }, { idempotencyKey: 'once' }))
  }
  expect(new Set(answers.map((answer) => 'task' in answer && answer.task.id)).size).toBe(1)
  expect(answers).toHaveLength(6)
})

describe.each(['task-rest', 'chat-rpc'] as const)('our client with an agent that serves %s only', (dialect) => {
  it.each(scenarios)('%s', async (_scenario, play) => {
    await using only = await serve(matrixAgent, { dialects: [dialect] })
    await using agent = await connect(only.url, { dialect })
    expect(agent.choice.dialect).toBe(dialect)
    await play(ownClient(agent))
  })
})
