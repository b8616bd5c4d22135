import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, normalize, sep } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { serveHttp } from '../client/http-server.fixture.js'
import type { Artifact, Task } from '../client/index.js'
import { filesOf, safeName, saveFiles } from './save-files.js'

describe('saving links', () => {
  const bounds = { maxFiles: 10, maxBytes: 1000, maxSeconds: 60 }
  let out = ''
  beforeEach(async () => {
    out = await mkdtemp(join(tmpdir(), 'dragoman-files-'))
  })
  afterEach(() => rm(out, { recursive: true, force: true }))

  it('fetches links on the host of the agent', async () => {
    await using server = await serveHttp((_, response) => response.end('hello'))
    const files = [{ name: 'a.txt', url: `${server.origin}/a.txt` }]
    const saved = await saveFiles(files, { out, links: true, agentUrl: 'http://localhost:1/', ...bounds })
    expect(saved).toEqual([{ name: 'a.txt', path: join(out, 'a.txt'), bytes: 5, url: `${server.origin}/a.txt` }])
    expect(await readFile(join(out, 'a.txt'), 'utf8')).toBe('hello')
  })

  it.each(['http://127.0.0.1:PORT/', 'http://localhost:PORT/', 'file:///etc/passwd', 'nonsense'])(
    'does not fetch %s for an agent on another host',
    async (url) => {
      await using server = await serveHttp((_, response) => response.end('secret'))
      const files = [{ name: 'a.txt', url: url.replace('PORT', String(server.port)) }]
      const saved = saveFiles(files, { out, links: true, agentUrl: 'https://8.8.8.8/', ...bounds })
      await expect(saved).rejects.toMatchObject({ failure: 'refused' })
      expect(server.seen).toEqual([])
    },
  )

  it('limits the number of links, bytes and seconds, and leaves no incomplete file', async () => {
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
    await expect(save(['a', 'b', 'c'], { maxFiles: 2 })).rejects.toThrow(
      'The task has 3 links, more than --max-files allows; pass --max-files 3',
    )
    expect(server.seen).toEqual([])
    await expect(save(['endless'])).rejects.toThrow('more than 1000 bytes; raise the limit with --max-bytes')
    await expect(save(['one', 'two'])).rejects.toThrow('--max-bytes')
    await expect(save(['slow'], { maxSeconds: 0.2 })).rejects.toThrow(
      'longer than 0.2 s; raise the limit with --max-seconds',
    )
    expect(await readdir(out)).toEqual(['one'])
  })
})

const taskOf = (...artifacts: Artifact[]): Task => ({
  id: 't',
  contextId: 'c',
  status: { state: 'TASK_STATE_COMPLETED' },
  artifacts,
})

describe('safeName', () => {
  it.each([
    ['report.pdf', 'report.pdf'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Windows\\system32\\evil.dll', 'evil.dll'],
    ['..', 'artifact'],
    ['', 'artifact'],
    ['   ', 'artifact'],
    ['.ssh', 'ssh'],
    ['NUL.txt', '_NUL.txt'],
    ['a:b*c?.txt', 'a_b_c_.txt'],
    ['trailing. . ', 'trailing'],
    ['报告.pdf', '报告.pdf'],
  ])('turns %j into %j', (given, name) => {
    expect(safeName(given)).toBe(name)
  })

  it('returns one path segment for every input', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (given) => {
        const name = safeName(given)
        const folder = join(sep, 'safe')
        expect(normalize(join(folder, name))).toBe(join(folder, basename(name)))
        expect(name).not.toBe('')
        expect(name.length).toBeLessThanOrEqual(121)
        expect(name.startsWith('.')).toBe(false)
      }),
    )
  })
})

describe('filesOf', () => {
  it('joins text parts, and makes a file of every other part', () => {
    const files = filesOf(
      taskOf(
        { artifactId: '1', name: 'answer', parts: [{ text: 'one ' }, { text: 'two' }, { data: { a: 1 } }] },
        { artifactId: '2', parts: [{ raw: 'AAE=', mediaType: 'image/png' }, { raw: '' }] },
        { artifactId: '3', name: 'page', parts: [{ text: '<p>', mediaType: 'text/html' }] },
        { artifactId: '4', parts: [{ url: 'https://x.example/a/b.zip?c' }] },
      ),
    )
    expect(
      files.map((file) => [file.name, 'url' in file ? file.url : Buffer.from(file.bytes).toString('latin1')]),
    ).toEqual([
      ['answer.txt', 'one two'],
      ['answer.json', '{\n  "a": 1\n}\n'],
      ['2.png', '\u0000\u0001'],
      ['2.bin', ''],
      ['page.html', '<p>'],
      ['b.zip', 'https://x.example/a/b.zip?c'],
    ])
  })

  it('makes names unique, ignoring case', () => {
    const part = (filename: string) => ({ raw: 'AA==', filename })
    const files = filesOf(taskOf({ artifactId: '1', parts: ['a.txt', 'A.TXT', 'x/a.txt'].map(part) }))
    expect(files.map(({ name }) => name)).toEqual(['a.txt', 'A-2.TXT', 'a-3.txt'])
  })
})
