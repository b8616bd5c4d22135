/** Client-supplied ids have the same limit in every store. The server rejects longer ids before the store sees them. */
import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { freshDatabase } from '../postgres/database.js'
import { type PostgresServer, startPostgres } from '../postgres/server.mjs'
import type { Outcome } from './answers.js'
import { message, startPeer } from './peer.js'

let server: PostgresServer

beforeAll(async () => {
  server = await startPostgres()
}, 60_000)
afterAll(async () => await server[Symbol.asyncDispose](), 60_000)

const stores: Readonly<Record<string, () => Promise<string>>> = {
  memory: async () => 'memory',
  sqlite: async () => 'sqlite::memory:',
  postgres: async () => await freshDatabase(server),
}

/** NUL is stored escaped, so it takes more space than other characters. */
const longest = '\0'.repeat(255)
const tooLong = Array.from({ length: 6000 }, (_, n) => (n * 7919).toString(36).at(-2) ?? 'x').join('')
const url = 'http://127.0.0.1:9/'

describe.each(Object.keys(stores))('ids on %s', (name) => {
  const peerOn = async () =>
    await startPeer(undefined, {
      store: (await stores[name]?.()) ?? '',
      push: { allowPrivate: true, httpsOnly: false },
      advanced: { engine: { dedupeByMessageId: true } },
    })

  it('of 255 characters are accepted, with any characters', async () => {
    await using peer = await peerOn()
    const { result } = await peer.call('SendMessage', {
      message: message('hello', { contextId: longest, messageId: longest }),
    })
    const { id: taskId = '' } = (result as { task?: { id: string } }).task ?? {}
    const created = await peer.call('CreateTaskPushNotificationConfig', { taskId, id: longest, url })
    assert.equal((created.result as { id: string }).id, longest)
  })

  it('that are longer are rejected with the name of the field', async () => {
    await using peer = await peerOn()
    for (const id of [`${longest}x`, tooLong]) {
      for (const field of ['contextId', 'messageId'])
        assertFault(await peer.call('SendMessage', { message: message('hello', { [field]: id }) }), `message.${field}`)
      const place = 'configuration.taskPushNotificationConfig'
      const configuration = { taskPushNotificationConfig: { id, url } }
      assertFault(await peer.call('SendMessage', { message: message('hello'), configuration }), `${place}.id`)
      const { result } = await peer.call('SendMessage', { message: message('hello') })
      const { id: taskId = '' } = (result as { task?: { id: string } }).task ?? {}
      assertFault(await peer.call('CreateTaskPushNotificationConfig', { taskId, id, url }), 'id')
    }
  })
})

function assertFault({ error }: Outcome, field: string): void {
  assert.equal(error?.reason, 'INVALID_PARAMS')
  assert.deepEqual(error.fields, [field])
}
