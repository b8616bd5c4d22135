/** AUTH_REQUIRED from end to end: requested on the wire, supplied out of band, used once, stored nowhere. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { type Agent, agent, apiKey, askAuth, type Served, serve } from 'dragoman'
import { createEngine } from 'dragoman/engine'
import { openSqliteStore } from 'dragoman/stores/sqlite'
import { gate, until } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { taskRest } from '../matrix/ad-hoc-clients.js'
import { v1Grpc, v03Grpc } from '../matrix/grpc-clients.js'
import { all, lastState } from '../matrix/scenarios.js'
import { v01JsonRpc, v03JsonRpc, v03Rest } from '../matrix/v0-clients.js'
import { v1JsonRpc, v1Rest } from '../matrix/v1-client.js'
import { type Fetch, resultOf, type TaskSummary, type WireClient } from '../matrix/wire-client.js'

const secret = 'tok-5f2d-secret'
const at =
  ({ url }: Served, headers: Readonly<Record<string, string>> = {}): Fetch =>
  (path, init) =>
    fetch(new URL(path, url), { ...init, headers: { ...(init.headers as Record<string, string>), ...headers } })

/** Reports the credential of each of its turns. */
const vault: Agent = agent('Vault', async function* ({ credential, text, caller }) {
  if (credential === undefined) {
    yield askAuth(`Log in to open the vault for ${caller.id}`)
    return
  }
  yield `${text} with ${typeof credential === 'string' ? credential.length : Object.keys(credential).join()}`
})

const peers: readonly (readonly [string, (served: Served) => WireClient])[] = [
  ['v1 over JSON-RPC', (served) => v1JsonRpc(at(served))],
  ['v1 over HTTP+JSON', (served) => v1Rest(at(served))],
  ['v1 over gRPC', ({ url }) => v1Grpc(new URL(url).host)],
  ['v0.3 over JSON-RPC', (served) => v03JsonRpc(at(served))],
  ['v0.3 over HTTP+JSON', (served) => v03Rest(at(served))],
  ['v0.3 over gRPC', ({ url }) => v03Grpc(new URL(url).host)],
  ['v0.1', (served) => v01JsonRpc(at(served))],
  ['task-rest', (served) => taskRest(at(served))],
]

/** Reads a stream up to the question. */
async function untilAsked(stream: AsyncIterator<TaskSummary>): Promise<TaskSummary> {
  let seen: TaskSummary = {}
  for (let next = await stream.next(); !next.done; next = await stream.next()) {
    seen = { ...seen, ...next.value, id: next.value.id ?? seen.id }
    if (seen.state === 'auth-required' || seen.note?.startsWith('Log in')) return seen
  }
  throw new Error(`The stream ended without a question: ${JSON.stringify(seen)}`)
}

describe.each(peers)('a task that needs a credential, over %s', (_name, speak) => {
  it('names the credential, and continues when it is supplied out of band (R-ITA-1, R-ITA-2, R-ITA-3)', async () => {
    await using served = await serve(vault, { dialects: 'all' })
    const wireClient = speak(served)
    const stream = wireClient.stream('open')[Symbol.asyncIterator]()
    const { id = '', note } = await untilAsked(stream)
    expect(note).toBe('Log in to open the vault for anonymous')
    const rest = all({ [Symbol.asyncIterator]: () => stream })
    await served.provideCredential({ taskId: id, credential: secret })
    const events = await rest
    // Streams of older dialects end at the question; those of 1.0 continue (R3-STRM-4).
    if (events.length > 0) {
      expect(lastState(events)).toBe('completed')
      expect(events.map(({ text }) => text ?? '').join('')).toContain(`open with ${secret.length}`)
    }
    expect(events.length > 0).toBe(wireClient.name.startsWith('v1'))
    await until(async () => resultOf(await wireClient.get(id)).state === 'completed')
    expect(resultOf(await wireClient.get(id)).text).toBe(`open with ${secret.length}`)
  })

  it('accepts messages meanwhile (R-ITA-4)', async () => {
    await using served = await serve(echoAgent, { dialects: 'all' })
    const wireClient = speak(served)
    const { id, contextId } = resultOf(await wireClient.send('auth'))
    const answered = resultOf(await wireClient.send('second', { taskId: id, contextId }))
    expect(answered).toMatchObject({ state: 'completed', text: 'auth\nsecond' })
  })
})

describe('subscribers', () => {
  it('stay connected through the question and see the end (R-ITA-3)', async () => {
    await using served = await serve(vault)
    const wireClient = v1JsonRpc(at(served))
    const { id = '' } = resultOf(await wireClient.send('open'))
    for (const each of [v1JsonRpc(at(served)), v1Grpc(new URL(served.url).host)]) {
      const stream = each.subscribe(id)[Symbol.asyncIterator]()
      expect((await stream.next()).value).toMatchObject({ state: 'auth-required' })
      if (each.name.includes('gRPC')) await served.provideCredential({ taskId: id, credential: secret })
      else continue
      expect(lastState(await all({ [Symbol.asyncIterator]: () => stream }))).toBe('completed')
    }
  })
})

describe('a credential', () => {
  it('is for one turn: a later message does not have it (R-ITA-8, R-ITA-9)', async () => {
    const seen: unknown[] = []
    const twice = agent('Twice', async function* ({ credential, text }) {
      seen.push([text, credential])
      if (text !== 'enough') yield askAuth('Log in')
    })
    await using served = await serve(twice)
    const wireClient = v1JsonRpc(at(served))
    const { id = '', contextId } = resultOf(await wireClient.send('first'))
    await served.provideCredential({ taskId: id, credential: secret })
    await until(async () => resultOf(await wireClient.get(id)).state === 'auth-required' && seen.length === 2)
    await wireClient.send('second', { taskId: id, contextId })
    await served.provideCredential({ taskId: id, credential: { access: 'x' } })
    await until(async () => resultOf(await wireClient.get(id)).state === 'auth-required' && seen.length === 4)
    await wireClient.send('enough', { taskId: id, contextId })
    expect(seen).toEqual([
      ['first', undefined],
      ['first', secret],
      ['second', undefined],
      ['second', { access: 'x' }],
      ['enough', undefined],
    ])
  })

  it('does not reach a message that arrived while it was in use (R-ITA-9)', async () => {
    const { opened, open } = gate()
    const seen: unknown[] = []
    const slow = agent('Slow', async function* ({ credential, text }) {
      seen.push([text, credential])
      if (credential === undefined && text === 'first') {
        yield askAuth('Log in')
        return
      }
      if (credential !== undefined) await opened
      yield text
    })
    await using served = await serve(slow)
    const wireClient = v1JsonRpc(at(served))
    const { id = '', contextId } = resultOf(await wireClient.send('first'))
    await served.provideCredential({ taskId: id, credential: secret })
    const second = wireClient.send('second', { taskId: id, contextId })
    await until(async () => {
      const slowService = served.services.get('Slow')
      const task = await slowService?.getTask({ id }, { caller: { id: 'anonymous' } })
      return task?.history?.length === 3
    })
    open()
    await second
    expect(seen).toEqual([
      ['first', undefined],
      ['first', secret],
      ['second', undefined],
    ])
  })

  it('appears nowhere: not in the store, the log, the audit or any response (R-ITA-9, R-SEC-5)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-'))
    const entries: unknown[] = []
    const keep = (entry: unknown) => void entries.push(entry)
    const quiet = agent('Quiet', async function* ({ credential }) {
      yield credential === undefined ? askAuth('Log in') : 'opened'
    })
    {
      await using served = await serve(quiet, {
        store: `sqlite:${join(folder, 'a.sqlite')}`,
        log: keep,
        advanced: { audit: keep },
      })
      const wireClient = v1JsonRpc(at(served))
      const { id = '' } = resultOf(await wireClient.send('open'))
      await served.provideCredential({ taskId: id, credential: secret })
      const task = await until(async () => {
        const each = await wireClient.get(id)
        return resultOf(each).state === 'completed' && each
      })
      expect(JSON.stringify(task)).not.toContain(secret)
    }
    expect(inspect(entries, { depth: 20 })).not.toContain(secret)
    for (const file of await readdir(folder)) expect(await readFile(join(folder, file), 'latin1')).not.toContain(secret)
    await rm(folder, { recursive: true })
  })

  it('is lost with the process: the turn is repeated without it, and asks again (R-ITA-9)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-'))
    const seen: unknown[] = []
    const never = new Promise<never>(() => undefined)
    const durable = agent({ name: 'Durable', onCrash: { attempts: 3 } }, async function* ({ credential, attempt }) {
      seen.push([attempt, credential])
      if (credential === undefined) {
        yield askAuth('Log in')
        return
      }
      yield 'begun'
      await never
    })
    const context = { caller: { id: 'anonymous' } }
    const open = () => openSqliteStore(join(folder, 'a.sqlite'))
    const [first, second] = [await open(), await open()]
    const before = createEngine(durable, { store: first, owner: 'before', leaseMs: 200 })
    const message = { messageId: 'm', role: 'ROLE_USER' as const, parts: [{ text: 'open' }] }
    const answer = await before.sendMessage({ message }, context)
    const { id } = (answer as { task: { id: string } }).task
    await before.provideCredential({ taskId: id, credential: secret })
    await until(() => seen.length === 2)
    // It hangs and does not renew its lease: other processes consider it dead.
    const after = createEngine(durable, { store: second, owner: 'after', isOwnerDead: (owner) => owner === 'before' })
    await after.start()
    await until(async () => (await after.getTask({ id }, context)).status.state === 'TASK_STATE_AUTH_REQUIRED')
    expect(seen).toEqual([
      [1, undefined],
      [1, secret],
      [2, undefined],
    ])
    await after.drain(0)
    await before.drain(0)
    await first.close()
    await second.close()
    await rm(folder, { recursive: true })
  })

  it('is rejected by a task that waits for none (R-ITA-7)', async () => {
    await using served = await serve(echoAgent)
    const wireClient = v1JsonRpc(at(served))
    for (const word of ['hello', 'ask']) {
      const { id = '' } = resultOf(await wireClient.send(word))
      await expect(served.provideCredential({ taskId: id, credential: secret })).rejects.toMatchObject({
        code: 'UNSUPPORTED_OPERATION',
      })
    }
    await expect(served.provideCredential({ taskId: 'nobody', credential: secret })).rejects.toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
  })

  it('is rejected if another caller supplies it (R-ITA-8)', async () => {
    await using served = await serve(vault, { auth: [apiKey({ 'key-a': 'alice', 'key-b': 'bob' })] })
    const wireClient = v1JsonRpc(at(served, { 'x-api-key': 'key-a' }))
    const { id = '' } = resultOf(await wireClient.send('open'))
    await expect(served.provideCredential({ taskId: id, credential: secret, caller: 'bob' })).rejects.toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
    expect(resultOf(await wireClient.get(id)).state).toBe('auth-required')
    await served.provideCredential({ taskId: id, credential: secret, caller: 'alice' })
    await until(async () => resultOf(await wireClient.get(id)).state === 'completed')
  })

  it('is used once, however often it is supplied (R-ITA-8)', async () => {
    await using served = await serve(vault)
    const wireClient = v1JsonRpc(at(served))
    const { id = '' } = resultOf(await wireClient.send('open'))
    const outcomes = await Promise.allSettled(
      Array.from({ length: 5 }, () => served.provideCredential({ taskId: id, credential: secret })),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    await until(async () => resultOf(await wireClient.get(id)).state === 'completed')
  })

  it('goes to the named agent if there are several', async () => {
    const named = (name: string) =>
      agent(name, async function* ({ credential }) {
        yield credential === undefined ? askAuth('Log in') : name
      })
    await using served = await serve([named('One'), named('Two'), { agent: named('Three'), port: 0 }])
    const { url = '' } = served.agents.find(({ name }) => name === 'Three') ?? {}
    const wireClient = v1JsonRpc((path, init) => fetch(new URL(path, url), init))
    const { id = '' } = resultOf(await wireClient.send('open'))
    await expect(served.provideCredential({ taskId: id, credential: secret })).rejects.toThrow(TypeError)
    await expect(served.provideCredential({ taskId: id, credential: secret, agent: 'Two' })).rejects.toMatchObject({
      code: 'TASK_NOT_FOUND',
    })
    await served.provideCredential({ taskId: id, credential: secret, agent: 'Three' })
    await until(async () => resultOf(await wireClient.get(id)).text === 'Three')
  })
})
