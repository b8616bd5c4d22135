/** Keys and signatures on the command line. */
import { chmod, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cli, json } from './cli-command.js'
import { startServer, temporaryFolder } from './server-process.js'

const isWindows = process.platform === 'win32'

describe('dragoman keys generate', () => {
  it('writes a key that only its owner can read, and overwrites no file', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'key.json')
    const { code, stdout } = await cli(['keys', 'generate', '--out', path, '-o', 'json'])
    expect(code).toBe(0)
    const key = json(await readFile(path, 'utf8')) as Record<string, string>
    expect(key).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', d: expect.any(String) })
    expect(json(stdout)).toEqual({
      path,
      publicKey: { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: key.kid, x: key.x, y: key.y },
    })
    if (!isWindows) expect((await stat(path)).mode & 0o777).toBe(0o600)
    const again = await cli(['keys', 'generate', '--out', path])
    expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('exists; choose another file') })
    expect(json(await readFile(path, 'utf8'))).toEqual(key)
  })

  it('prints the key without --out, with the given algorithm and id', async () => {
    const { stdout } = await cli(['keys', 'generate', '--alg', 'EdDSA', '--kid', 'mine'])
    expect(json(stdout)).toMatchObject({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', kid: 'mine', d: expect.any(String) })
    expect((await cli(['keys', 'generate', '--alg', 'HS256'])).code).toBe(2)
  })
})

describe('dragoman serve --signing-key', () => {
  it('signs with the first key, publishes all keys, and other commands verify the signature', async () => {
    await using folder = await temporaryFolder()
    const [one, two] = ['one', 'two'].map((name) => join(folder.path, `${name}.json`)) as [string, string]
    await cli(['keys', 'generate', '--out', one, '--kid', 'one'])
    await cli(['keys', 'generate', '--out', two, '--kid', 'two', '--alg', 'EdDSA'])
    await using server = await startServer(['--echo', '--signing-key', one, '--signing-key', two])
    const response = await fetch(`${server.url}.well-known/jwks.json`)
    const jwks = (await response.json()) as { keys: { kid: string }[] }
    expect(jwks.keys.map(({ kid }) => kid)).toEqual(['one', 'two'])

    expect((await cli(['card', 'get', server.url, '--signed'])).stdout).toMatch(/^Signature +valid by key one$/m)
    const good = await cli(['card', 'validate', server.url, '--signed'])
    expect(good).toMatchObject({ code: 0, stdout: expect.stringMatching(/valid\nsignature valid by key one\n$/) })

    // A card in a file needs explicit trusted keys, and a changed card fails.
    const [card, keys] = [join(folder.path, 'card.json'), join(folder.path, 'jwks.json')]
    await writeFile(keys, JSON.stringify(jwks))
    const { stdout: raw } = await cli(['card', 'get', server.url, '--raw'])
    await writeFile(card, raw)
    const validate = async (...rest: string[]) => {
      const { code, stdout } = await cli(['card', 'validate', card, '-o', 'json', ...rest])
      const { signature } = (code === 0 || stdout !== '' ? json(stdout) : {}) as { signature?: { state: string } }
      return [code, signature?.state]
    }
    expect(await validate()).toEqual([0, 'unknown-key'])
    expect(await validate('--signed')).toEqual([expect.any(Number), undefined])
    expect(await validate('--keys', keys, '--signed')).toEqual([0, 'valid'])
    await writeFile(card, raw.replace('"Echo"', '"Evil"'))
    expect(await validate('--keys', keys)).toEqual([1, 'invalid'])
  })

  it('reports an invalid key, and a key that others can read', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'key')
    const start = (file: string) => cli(['serve', '--echo', '--port', '0', '--signing-key', file])
    expect(await start(path)).toMatchObject({ code: 2, stderr: expect.stringContaining('ENOENT') })
    await writeFile(path, '{"kty":"oct","k":"c2VjcmV0"}')
    expect(await start(path)).toMatchObject({ code: 2, stderr: expect.stringContaining('is for oct') })
    if (isWindows) return
    const { stdout } = await cli(['keys', 'generate'])
    await writeFile(path, stdout)
    await chmod(path, 0o644)
    await using server = await startServer(['--echo', '--signing-key', path])
    expect(server.stderr).toContain('other users can read the key')
  })
})
