/** Posts every file of the corpus to every endpoint that takes a body. Every input that caused a crash becomes a file there. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { startPeer } from './peer.js'

const folder = new URL('../fixtures/fuzz/', import.meta.url)
const names = readdirSync(folder)
const paths = [
  '/message:send',
  '/message:stream',
  '/tasks/nope:cancel',
  '/tasks/nope:subscribe',
  '/tasks/nope/pushNotificationConfigs',
]

describe('the fuzz corpus', () => {
  it('has at least 40 files', () => assert.ok(names.length >= 40))

  it.each(names)(proves('R-ERR-8', '%s gets a well-formed answer on both bindings'), async (name) => {
    await using peer = await startPeer(undefined, { store: 'sqlite::memory:' })
    const bytes = Uint8Array.from(readFileSync(new URL(name, folder)))
    await peer.rpc(bytes)
    for (const path of paths) await peer.rest('POST', path, bytes)
    await peer.rpc(bytes, { 'content-type': 'text/plain' })
    await peer.rpc(bytes, { 'a2a-version': '0.3' })
    await peer.assertAlive()
    assert.deepEqual(peer.logs, [], 'nothing was worth an error in the log')
    assert.equal(Reflect.get({}, 'polluted'), undefined)
  })
})
