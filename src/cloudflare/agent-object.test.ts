/** A Durable Object on Node, with its storage in SQLite. `npm run test:integrations -- workers` runs it in workerd. */
import Database from 'libsql'
import { describe, expect, it } from 'vitest'
import { agent, ask, connect } from '../index.js'
import { text } from '../model/part.js'
import { agentObject, type ObjectState } from './agent-object.js'
import { type ObjectStorage, sqlDocuments } from './sql-documents.js'

interface TestStorage extends ObjectStorage {
  alarmMs: number | null
}

function memoryStorage(): TestStorage {
  const database = new Database(':memory:')
  return {
    alarmMs: null,
    sql: {
      exec(query, ...values) {
        const statement = database.prepare(query)
        if (!statement.reader) {
          statement.run(...values)
          return []
        }
        return statement.all(...values) as Record<string, unknown>[]
      },
    },
    transactionSync: (work) => database.transaction(work)(),
    sync: async () => undefined,
    async getAlarm() {
      return this.alarmMs
    },
    async setAlarm(timeMs) {
      this.alarmMs = timeMs
    },
  }
}

const publicUrl = 'https://tailor.example'
const tailor = agent('Tailor', async function* ({ text: said, number, signal }) {
  if (said === 'sew') await new Promise((resolve) => signal.addEventListener('abort', resolve))
  else if (number === 1) yield ask('Which size?')
  else yield `A ${said} suit`
})

function start(state: ObjectState) {
  const Tailor = agentObject(tailor, { publicUrl, auth: 'none', log: false })
  const object = new Tailor(state, undefined)
  const fetch = (url: string | URL | Request, init?: RequestInit) => object.fetch(new Request(url, init))
  return {
    object,
    connect: () => connect(publicUrl, { fetch: fetch as typeof globalThis.fetch, binding: 'HTTP+JSON' }),
  }
}

describe('agentObject', () => {
  it('keeps a question over a restart of the object', async () => {
    const storage = memoryStorage()
    await using before = await start({ storage }).connect()
    const { task, state } = await before.ask('a suit')
    expect(state).toBe('TASK_STATE_INPUT_REQUIRED')
    await using after = await start({ storage }).connect()
    expect((await after.ask('large', { taskId: task?.id ?? '' })).text).toBe('A large suit')
  })

  it('continues an interrupted task at the alarm, and sets alarms only while tasks run', async () => {
    const storage = memoryStorage()
    await using before = await start({ storage }).connect()
    expect(storage.alarmMs).toBeNull()
    const sent = await before.sendMessage({
      message: { messageId: 'm1', role: 'ROLE_USER', parts: [text('sew')] },
      configuration: { returnImmediately: true },
    })
    const id = 'task' in sent ? sent.task.id : ''
    expect(storage.alarmMs).toBeGreaterThan(Date.now())
    // The platform removes the alarm before it calls the object.
    storage.alarmMs = null
    const restarted = start({ storage })
    await restarted.object.alarm()
    await using after = await restarted.connect()
    // The handler may not run twice (`onCrash`), so the task has failed.
    expect(await after.task(id).wait()).toMatchObject({ status: { state: 'TASK_STATE_FAILED' } })
    storage.alarmMs = null
    await restarted.object.alarm()
    expect(storage.alarmMs).toBeNull()
  })

  it('refuses webhooks', async () => {
    await using client = await start({ storage: memoryStorage() }).connect()
    expect(client.card.capabilities.pushNotifications ?? false).toBe(false)
    const { task } = await client.ask('a suit')
    const config = { taskId: task?.id ?? '', id: 'c1', url: 'https://hook.example' }
    await expect(client.createTaskPushNotificationConfig(config)).rejects.toMatchObject({
      code: 'PUSH_NOTIFICATION_NOT_SUPPORTED',
    })
  })

  it('takes options that depend on the environment, and requires `publicUrl` and `auth`', () => {
    const Tailor = agentObject(tailor, (env: { readonly url: string }) => ({
      publicUrl: env.url,
      auth: 'none' as const,
    }))
    const state = { storage: memoryStorage() }
    expect(() => new Tailor(state, { url: 'nowhere' })).toThrow('publicUrl')
    expect(() => agentObject(tailor, { publicUrl } as never)).toThrow('agentObject needs `auth`')
    expect(() => agentObject(tailor, { auth: 'none' } as never)).toThrow('agentObject needs `publicUrl`')
  })
})

describe('sqlDocuments', () => {
  it('stores long documents in pieces, and cuts no character', async () => {
    const documents = sqlDocuments(memoryStorage())
    const long = `${'x'.repeat(599_999)}🧵${'y'.repeat(700_000)}`
    await documents.save('a', long)
    await documents.save('b', '')
    expect(await documents.load('a')).toBe(long)
    await documents.save('a', 'short')
    expect(await documents.load('a')).toBe('short')
    expect(await documents.load('b')).toBe('')
    expect(await documents.list()).toEqual(['a', 'b'])
    await documents.remove?.('a')
    expect([await documents.list(), await documents.load('a')]).toEqual([['b'], undefined])
  })
})
