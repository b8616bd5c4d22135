import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { serveHttp } from '../client/http-server.fixture.js'
import { saveFiles } from './save-files.js'

describe('saving links', () => {
  const bounds = { maxFiles: 10, maxBytes: 1000, maxSeconds: 60 }
  let out = ''
  beforeEach(async () => {
    out = await mkdtemp(join(tmpdir(), 'dragoman-files-'))
  })
  afterEach(() => rm(out, { recursive: true, force: true }))

  it('fetches what is beside the agent', async () => {
    await using server = await serveHttp((_, response) => response.end('hello'))
    const files = [{ name: 'a.txt', url: `${server.origin}/a.txt` }]
    const saved = await saveFiles(files, { out, links: true, agentUrl: 'http://localhost:1/', ...bounds })
    expect(saved).toEqual([{ name: 'a.txt', path: join(out, 'a.txt'), bytes: 5, url: `${server.origin}/a.txt` }])
    expect(await readFile(join(out, 'a.txt'), 'utf8')).toBe('hello')
  })

  it.each(['http://127.0.0.1:PORT/', 'http://localhost:PORT/', 'file:///etc/passwd', 'nonsense'])(
    'does not follow an agent from elsewhere to %s',
    async (url) => {
      await using server = await serveHttp((_, response) => response.end('secret'))
      const files = [{ name: 'a.txt', url: url.replace('PORT', String(server.port)) }]
      const saved = saveFiles(files, { out, links: true, agentUrl: 'https://8.8.8.8/', ...bounds })
      await expect(saved).rejects.toMatchObject({ failure: 'refused' })
      expect(server.seen).toEqual([])
    },
  )

  it('stops at a number of links, of bytes and of seconds, and leaves no half file', async () => {
    await using server = await serveHttp(({ path }, response) => {
      if (path === '/slow') return response.writeHead(200).write('x')
      const more = () => {
        while (response.write('x'.repeat(1000)));
      }
      response.on('drain', more)
      if (path === '/endless') return more()
      return response.end('x'.repeat(600))
    })
    const linking = (...paths: string[]) => paths.map((path) => ({ name: path, url: `${server.origin}/${path}` }))
    const save = (paths: string[], more: Partial<typeof bounds> = {}) =>
      saveFiles(linking(...paths), { out, links: true, agentUrl: server.origin, ...bounds, ...more })
    await expect(save(['a', 'b', 'c'], { maxFiles: 2 })).rejects.toThrow('The task has 3 links; --max-files 3')
    expect(server.seen).toEqual([])
    await expect(save(['endless'])).rejects.toThrow('more than 1000 bytes; --max-bytes')
    await expect(save(['one', 'two'])).rejects.toThrow('--max-bytes')
    await expect(save(['slow'], { maxSeconds: 0.2 })).rejects.toThrow('longer than 0.2 s; --max-seconds')
    expect(await readdir(out)).toEqual(['one'])
  })
})
