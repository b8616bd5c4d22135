/** `dragoman bench`: counts and termination. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, within } from '../hostile/waiting.js'
import { cli, InteractiveCommand, json } from './cli-command.js'
import { freePort, scriptedServer, sendJson } from './hostile-agent.js'
import { type ServerProcess, startServer } from './server-process.js'

let server: ServerProcess

beforeAll(async () => {
  server = await startServer()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

async function bench(...args: string[]) {
  const { code, stdout, stderr } = await cli(['bench', server.url, ...args, '-o', 'json'])
  return { code, stderr, totals: json(stdout) }
}

describe('dragoman bench', () => {
  it('sends the given number of messages and prints the latencies', async () => {
    const { code, stdout, stderr } = await cli(['bench', server.url, '-n', '50', '-c', '5'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /^Agent +Echo, v1 over JSONRPC, 5 at a time\nRequests +50 answered, 0 failed, in [\d.]+ s\nRate +[\d.]+ requests\/s\nTime +p50 [\d.]+ ms, p90 [\d.]+ ms, p99 [\d.]+ ms \([\d.]+ – [\d.]+\)\n$/,
    )
  })

  it('prints the results as JSON', async () => {
    const { code, totals } = await bench('-n', '20', '--binding', 'rest')
    expect(code).toBe(0)
    expect(totals).toMatchObject({
      dialect: 'v1',
      binding: 'HTTP+JSON',
      concurrency: 10,
      requests: 20,
      succeeded: 20,
      failed: 0,
      errors: {},
      requestsPerSecond: expect.any(Number),
      latencyMs: { p50: expect.any(Number), p90: expect.any(Number), p99: expect.any(Number) },
    })
  })

  it('counts the events of streams', async () => {
    const { totals } = await bench('-n', '10', '--stream', '--text', 'chunks 5')
    // The task, WORKING, five chunks, COMPLETED.
    expect(totals).toMatchObject({ succeeded: 10, events: 80, firstEventMs: { p50: expect.any(Number) } })
  })

  it('runs for the given duration', async () => {
    const { totals } = await bench('-d', '1', '-c', '2')
    expect(totals).toMatchObject({ failed: 0, seconds: expect.closeTo(1, 0) })
  })

  it('counts failed tasks as errors by kind, and exits 1 if no call succeeded', async () => {
    const { code, totals } = await bench('-n', '10', '--text', 'fail')
    expect(code).toBe(1)
    expect(totals).toMatchObject({ requests: 10, succeeded: 0, failed: 10, errors: { TASK_STATE_FAILED: 10 } })
  })

  it('counts rejected calls by error code', async () => {
    let calls = 0
    const broken = { error: { code: -32603, message: 'Broken' } }
    await using flaky = await scriptedServer(answering(() => (calls++ % 2 === 0 ? pong : broken)))
    const { code, stdout } = await cli(['bench', flaky.url, '-n', '10', '-c', '1', '-o', 'json'])
    expect(code).toBe(0)
    expect(json(stdout)).toMatchObject({ succeeded: 5, failed: 5, errors: { INTERNAL_ERROR: 5 } })
  })

  it('prints the results so far at Ctrl-C', async () => {
    await using quick = await scriptedServer(answering(() => pong))
    await using run = new InteractiveCommand(['bench', quick.url, '-d', '60'])
    await eventually(10_000, 'some answers', () => quick.requests.length > 50)
    run.signal('SIGINT')
    const { code, stdout } = await within(5000, 'the end', run.exit)
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Requests +[1-9]\d* answered, 0 failed/m)
  })

  it('fails if the agent cannot be reached: exit 3', async () => {
    expect(await cli(['bench', `localhost:${await freePort()}`])).toMatchObject({ code: 3, stdout: '' })
  })

  it.each([
    ['-n', '0'],
    ['-c', 'many'],
    ['-d', '-1'],
  ])('%s %s is invalid usage: exit 2', async (...args) => {
    expect(await cli(['bench', server.url, ...args])).toMatchObject({ code: 2, stdout: '' })
  })
})

const pong = { result: { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'pong' }] } } }

/** A minimal agent. */
function answering(say: () => object): Parameters<typeof scriptedServer>[0] {
  return ({ path, id, url }, response) => {
    if (!path.endsWith('agent-card.json')) return sendJson(response, { jsonrpc: '2.0', id, ...say() })
    const supportedInterfaces = [{ url: `${url}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
    const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] }
    const about = { name: 'Pong', description: 'Answers', version: '1', capabilities: {} }
    const skills = [{ id: 'pong', name: 'Pong', description: 'Answers', tags: ['pong'] }]
    sendJson(response, { ...about, ...modes, skills, supportedInterfaces })
  }
}
