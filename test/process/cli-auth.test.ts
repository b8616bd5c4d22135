/** `dragoman auth`: stores and uses credentials, and never prints them. */
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cli, json } from './cli-command.js'
import { type ServerProcess, startServer, temporaryFolder } from './server-process.js'

let server: ServerProcess
let ref: string

beforeAll(async () => {
  server = await startServer(['--echo', '--api-key', 'open sesame'])
  ref = new URL(server.url).host
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

describe('dragoman auth', () => {
  it('stores an API key, sends it with later calls, and deletes it', async () => {
    await using folder = await temporaryFolder()
    const run = (args: readonly string[], stdin?: string) =>
      cli(args, { configFolder: join(folder.path, 'config'), ...(stdin !== undefined && { stdin }) })
    expect(await run(['send', ref, 'hello'])).toMatchObject({ code: 4 })
    expect(await run(['auth', 'login', ref, '--api-key', '-'], 'open sesame\n')).toMatchObject({
      code: 0,
      stdout: `Stored a credential (api-key) for http://${ref}\n`,
      stderr: '',
    })
    expect(await run(['send', ref, 'hello'])).toMatchObject({ code: 0, stdout: 'hello\n' })
    const debug = await run(['send', ref, 'hello', '--debug'])
    expect(debug.stderr).toContain('[redacted]')
    const status = await run(['auth', 'status'])
    expect(status.stdout).toMatch(new RegExp(`^http://${ref} +api-key *\n$`))
    expect(json((await run(['auth', 'status', ref, '-o', 'json'])).stdout)).toEqual({
      credentials: [{ origin: `http://${ref}`, kind: 'api-key' }],
    })
    expect(debug.stderr + status.stdout).not.toContain('sesame')
    expect(await run(['auth', 'logout', ref])).toMatchObject({ code: 0 })
    expect(await run(['send', ref, 'hello'])).toMatchObject({ code: 4 })
  })

  it('appears in `config show` without the secret', async () => {
    await using folder = await temporaryFolder()
    const run = (...args: string[]) => cli(args, { configFolder: folder.path })
    expect((await run('config', 'show')).stdout).toMatch(/^logged in at +none /m)
    await run('auth', 'login', ref, '--api-key', 'open sesame')
    const { code, stdout } = await run('config', 'show', '-o', 'json')
    expect([code, json(stdout)]).toEqual([
      0,
      {
        settings: expect.arrayContaining([
          { name: 'credentials', value: join(folder.path, 'credentials.json'), source: 'DRAGOMAN_CONFIG_DIR' },
          { name: 'logged in at', value: `http://${ref}`, source: 'dragoman auth login' },
        ]),
      },
    ])
    expect(stdout).not.toContain('sesame')
  })

  it.skipIf(process.platform === 'win32')('stores the credential in a file that only its owner can read', async () => {
    await using folder = await temporaryFolder()
    const configFolder = join(folder.path, 'config')
    await cli(['auth', 'login', ref, '--api-key', 'open sesame'], { configFolder })
    expect((await stat(join(configFolder, 'credentials.json'))).mode & 0o777).toBe(0o600)
    expect((await stat(configFolder)).mode & 0o777).toBe(0o700)
  })

  it('does not store a rejected credential, unless --no-check is given', async () => {
    await using folder = await temporaryFolder()
    const run = (...args: string[]) => cli(args, { configFolder: folder.path })
    const { code, stderr } = await run('auth', 'login', ref, '--bearer', 'nonsense')
    expect(code).toBe(4)
    expect(stderr).toMatch(/The credentials that were given do not fit: [^\n]*API key/i)
    const wrong = await run('auth', 'login', ref, '--api-key', 'wrong')
    expect(wrong.code).toBe(4)
    expect(wrong.stderr).toMatch(
      /^dragoman: The agent refused the credentials that were sent: .*\nCheck the credential; it was not stored\. The agent requires .*API key/i,
    )
    expect(wrong.stderr).not.toContain('auth login')
    expect(await run('auth', 'status')).toMatchObject({ stdout: 'No credentials\n' })
    expect(await run('auth', 'login', ref, '--basic', 'ada:secret', '--no-check')).toMatchObject({ code: 0 })
    expect(await run('auth', 'status')).toMatchObject({ stdout: `http://${ref}  basic  ada\n` })
  })

  it('sends a credential to its own origin only', async () => {
    await using folder = await temporaryFolder()
    await using other = await startServer(['--echo', '--api-key', 'open sesame'])
    await cli(['auth', 'login', ref, '--api-key', 'open sesame'], { configFolder: folder.path })
    expect(await cli(['send', other.url, 'hello'], { configFolder: folder.path })).toMatchObject({ code: 4 })
  })

  it('fails without a terminal and without a credential option', async () => {
    await using folder = await temporaryFolder()
    expect(await cli(['auth', 'login', ref], { configFolder: folder.path })).toMatchObject({
      code: 2,
      stderr: 'dragoman: give --api-key, --bearer, --basic or --client-id\n',
    })
  })

  it('does not overwrite a file it did not write', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'credentials.json')
    await writeFile(file, 'something else')
    const { code, stderr } = await cli(['auth', 'login', ref, '--api-key', 'x'], { configFolder: folder.path })
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('repair or remove it') })
    expect(await readFile(file, 'utf8')).toBe('something else')
  })
})
