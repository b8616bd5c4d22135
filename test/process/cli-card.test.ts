/** `dragoman card`: reading, checking and comparing cards. */
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cli, json } from './cli-command.js'
import { type ServerProcess, startServer, temporaryFolder } from './server-process.js'

let server: ServerProcess
let ref: string

beforeAll(async () => {
  server = await startServer()
  ref = new URL(server.url).host
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe('dragoman card get', () => {
  it('prints a card and the chosen interface', async () => {
    const { code, stdout, stderr } = await cli(['card', 'get', ref, '--why'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Echo 1\.0\.0\nReturns the text of each message/)
    expect(stdout).toMatch(/^Capabilities +streaming, push notifications$/m)
    expect(stdout).toMatch(/^Security +none$/m)
    expect(stdout).toMatch(/^Signature +none$/m)
    expect(stdout).toMatch(/^ {2}JSONRPC +1\.0 {2}http:/m)
    expect(stdout).toMatch(/^ {2}echo {2}Echo: Repeats the text/m)
    expect(stdout).toMatch(/^Chosen interface: v1 over JSONRPC at http:\S+\n {2}Took JSONRPC 1\.0 at/m)
  })

  it('prints the card as JSON, with --why the choice too', async () => {
    expect(json((await cli(['card', 'get', ref, '-o', 'json'])).stdout)).toMatchObject({
      name: 'Echo',
      supportedInterfaces: expect.arrayContaining([expect.objectContaining({ protocolBinding: 'GRPC' })]),
    })
    expect(json((await cli(['card', 'get', ref, '--why', '-o', 'json'])).stdout)).toMatchObject({
      card: { name: 'Echo' },
      signature: { state: 'absent' },
      choice: { dialect: 'v1', binding: 'JSONRPC', reasons: expect.arrayContaining([expect.any(String)]) },
    })
  })

  it('follows --protocol and --binding', async () => {
    const { stdout } = await cli(['card', 'get', ref, '--protocol', '0.3', '--binding', 'rest'])
    expect(stdout).toMatch(/^Chosen interface: v0\.3 over HTTP\+JSON at /m)
  })

  it('removes control characters of the card', async () => {
    await using foreign = await cardServer({
      ...sample,
      name: 'Evil\u001b]52;c;aGk=\u0007\u001b[2J',
      description: 'two\nlines\u202egnp.exe',
    })
    const { stdout } = await cli(['card', 'get', foreign.url])
    expect(stdout).toMatch(/^Evil\]52;c;aGk=\[2J 1\.0\.0\ntwo linesgnp\.exe\n/)
  })

  it('prints the unchanged card with --raw', async () => {
    await using foreign = await cardServer({ ...sample, notInTheProtocol: true })
    expect(json((await cli(['card', 'get', foreign.url, '--raw'])).stdout)).toMatchObject({ notInTheProtocol: true })
  })
})

describe('dragoman card validate', () => {
  it('finds no faults in the card of our server', async () => {
    const { code, stdout } = await cli(['card', 'validate', ref])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^http:\S+agent-card\.json: a v1 card, valid\n$/)
  })

  it('names faults of a file by path: exit 1', async () => {
    await using folder = await temporaryFolder()
    const { skills: _, ...rest } = sample
    await writeFile(join(folder.path, 'card.json'), JSON.stringify({ ...rest, version: 7 }))
    const { code, stdout } = await cli(['card', 'validate', './card.json'], { cwd: folder.path })
    expect(code).toBe(1)
    expect(stdout).toMatch(/^\.\/card\.json: a v1 card, not valid \(\d+ errors, \d+ warnings\)\n/)
    expect(stdout).toMatch(/^error +version +.+\(R-\S+\)$/m)
    expect(stdout).toMatch(/^error +skills +/m)
    const report = json((await cli(['card', 'validate', './card.json', '-o', 'json'], { cwd: folder.path })).stdout)
    expect(report).toMatchObject({
      source: './card.json',
      isValid: false,
      problems: expect.arrayContaining([expect.objectContaining({ severity: 'error', path: 'version' })]),
    })
  })

  it('reports a card that no client can use', async () => {
    await using foreign = await cardServer({ name: 7 })
    expect(await cli(['card', 'validate', foreign.url])).toMatchObject({ code: 1, stderr: '' })
  })

  it('fails if there is no card', async () => {
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'x.json'), 'no JSON')
    expect(await cli(['card', 'validate', 'x.json'], { cwd: folder.path })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'dragoman: x.json is not JSON\n',
    })
  })
})

describe('dragoman card diff', () => {
  it('compares member by member', async () => {
    await using folder = await temporaryFolder()
    const write = (name: string, card: object) => writeFile(join(folder.path, name), JSON.stringify(card))
    await write('a.json', sample)
    const [skill] = sample.skills
    const skills = [
      { id: 'new', name: 'New', description: 'd', tags: [] },
      { ...skill, name: 'Other' },
    ]
    const { provider: _, ...rest } = sample
    await write('b.json', { ...rest, version: '2.0.0', skills })
    const { code, stdout } = await cli(['card', 'diff', 'a.json', 'b.json'], { cwd: folder.path })
    expect(code).toBe(0)
    expect(stdout.trimEnd().split('\n').sort()).toEqual([
      '+ skills[new]: {"id":"new","name":"New","description":"d","tags":[]}',
      '- provider: {"organization":"O","url":"https://o.example"}',
      '~ skills[s].name: "S" → "Other"',
      '~ version: "1.0.0" → "2.0.0"',
    ])
    expect(await cli(['card', 'diff', 'a.json', 'b.json', '--exit-code'], { cwd: folder.path })).toMatchObject({
      code: 1,
    })
  })

  it('reports that the cards are the same', async () => {
    expect(await cli(['card', 'diff', ref, server.url, '--exit-code'])).toMatchObject({
      code: 0,
      stdout: 'The cards are the same\n',
    })
  })
})

describe('dragoman completion', () => {
  it('completes commands, options and choices in bash', async () => {
    await using folder = await temporaryFolder()
    const { code, stdout } = await cli(['completion', 'bash'])
    expect(code).toBe(0)
    const script = join(folder.path, 'completion.bash')
    await writeFile(script, stdout)
    const { execFileSync } = await import('node:child_process')
    const complete = (...words: string[]) =>
      execFileSync(
        'bash',
        [
          '-c',
          `source ${script}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dragoman; printf '%s\\n' "\${COMPREPLY[@]}"`,
          'bash',
          'dragoman',
          ...words,
        ],
        { encoding: 'utf8' },
      )
        .trimEnd()
        .split('\n')
    expect(complete('ta')).toEqual(['task'])
    expect(complete('task', '')).toEqual(expect.arrayContaining(['get', 'list', 'cancel', 'subscribe', 'download']))
    expect(complete('task', 'get', 'localhost:8001', '--wa')).toEqual(['--wait'])
    expect(complete('send', 'localhost:8001', '-o', 'j')).toEqual(['json'])
  })

  it.each(['zsh', 'fish'])('has a script for %s with every command', async (shell) => {
    const { code, stdout } = await cli(['completion', shell])
    expect(code).toBe(0)
    for (const word of ['send', 'chat', 'card', 'validate', 'subscribe', 'listen', 'login', 'serve'])
      expect(stdout).toContain(word)
  })
})

const sample = {
  name: 'Sample',
  description: 'A card',
  version: '1.0.0',
  provider: { organization: 'O', url: 'https://o.example' },
  supportedInterfaces: [{ url: 'http://127.0.0.1:1/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 's', name: 'S', description: 'd', tags: ['t'] }],
}

async function cardServer(card: object): Promise<{ readonly url: string } & AsyncDisposable> {
  const http = createServer((_, response) => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(card))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/card.json`,
    [Symbol.asyncDispose]: () => new Promise((resolve) => http.close(() => resolve())),
  }
}
