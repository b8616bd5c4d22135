import { basename, join, normalize, sep } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Artifact, Task } from '../client/index.js'
import { filesOf, safeName } from './artifact-files.js'

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
  ])('makes of %j the name %j', (given, name) => {
    expect(safeName(given)).toBe(name)
  })

  it('is one segment of a path, whatever it is made of', () => {
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
  it('joins the pieces of a text, and gives everything else a file of its own', () => {
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

  it('never uses a name twice, capitals aside', () => {
    const part = (filename: string) => ({ raw: 'AA==', filename })
    const files = filesOf(taskOf({ artifactId: '1', parts: ['a.txt', 'A.TXT', 'x/a.txt'].map(part) }))
    expect(files.map(({ name }) => name)).toEqual(['a.txt', 'A-2.TXT', 'a-3.txt'])
  })
})
