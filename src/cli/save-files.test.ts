import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { serveHttp } from '../client/http-server.fixture.js'
import { saveFiles } from './save-files.js'

describe('saving links', () => {
  let out = ''
  beforeEach(async () => {
    out = await mkdtemp(join(tmpdir(), 'dragoman-files-'))
  })
  afterEach(() => rm(out, { recursive: true, force: true }))

  it('fetches what is beside the agent', async () => {
    await using server = await serveHttp((_, response) => response.end('hello'))
    const files = [{ name: 'a.txt', url: `${server.origin}/a.txt` }]
    const saved = await saveFiles(files, { out, links: true, agentUrl: 'http://localhost:1/' })
    expect(saved).toEqual([{ name: 'a.txt', path: join(out, 'a.txt'), bytes: 5, url: `${server.origin}/a.txt` }])
    expect(await readFile(join(out, 'a.txt'), 'utf8')).toBe('hello')
  })

  it.each(['http://127.0.0.1:PORT/', 'http://localhost:PORT/', 'file:///etc/passwd', 'nonsense'])(
    'does not follow an agent from elsewhere to %s',
    async (url) => {
      await using server = await serveHttp((_, response) => response.end('secret'))
      const files = [{ name: 'a.txt', url: url.replace('PORT', String(server.port)) }]
      const saved = saveFiles(files, { out, links: true, agentUrl: 'https://8.8.8.8/' })
      await expect(saved).rejects.toMatchObject({ failure: 'refused' })
      expect(server.seen).toEqual([])
    },
  )
})
