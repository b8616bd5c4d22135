/** `dragoman serve`: authentication and TLS. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentCard } from 'dragoman'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { createAuthority } from '../auth/authority.js'
import { bearing, bindings, type CallWith } from '../auth/call-with-credentials.js'
import { audience, openIdProvider } from '../auth/openid-provider.js'
import { builtLibrary, runCommand, startServer, type TemporaryFolder, temporaryFolder } from './server-process.js'

beforeAll(() => {
  // The provider logs that it is not a production system.
  for (const level of ['info', 'warn'] as const) vi.spyOn(console, level).mockImplementation(() => undefined)
})

/** An agent that returns the identity of its caller, as a module for the command. */
async function mirrorIn({ path }: TemporaryFolder): Promise<string> {
  const file = join(path, 'mirror.mjs')
  await writeFile(
    file,
    `import { agent } from ${JSON.stringify(builtLibrary)}
export default agent('Mirror', async function* ({ caller }) { yield JSON.stringify(caller) })`,
  )
  return file
}

describe.each(bindings)('dragoman serve, called over %s', (_name, callWith) => {
  const callerOf = async (...args: Parameters<CallWith>) => {
    const { caller, refused } = await callWith(...args)
    return caller?.id ?? refused
  }

  it('accepts any of the configured credentials', async () => {
    await using provider = await openIdProvider()
    await using folder = await temporaryFolder()
    await using server = await startServer([
      ...[await mirrorIn(folder), '--api-key', 'the key', '--bearer', 'the-token'],
      ...['--oidc', provider.issuer, '--audience', audience],
    ])
    expect(await callerOf(server.url, { headers: { 'x-api-key': 'the key' } })).toBe('api-key')
    expect(await callerOf(server.url, bearing('the-token'))).toBe('bearer')
    expect(await callerOf(server.url, bearing(await provider.token()))).toBe('oidc:alice')
    expect(await callerOf(server.url, bearing(await provider.token({ resource: 'https://other.example' })))).toBe(
      'UNAUTHENTICATED',
    )
    expect(await callerOf(server.url, bearing('another-token'))).toBe('UNAUTHENTICATED')
    expect(await callerOf(server.url)).toBe('UNAUTHENTICATED')
  })

  it('serves TLS and authenticates callers by certificate', async () => {
    await using folder = await temporaryFolder()
    const authority = await createAuthority('Ours')
    const others = await createAuthority('Others')
    const { cert, key } = await authority.issue({
      name: 'CN=localhost',
      altNames: [{ type: 'ip', value: '127.0.0.1' }],
    })
    const write = async (file: string, text: string) => {
      await writeFile(join(folder.path, file), text)
      return join(folder.path, file)
    }
    await using server = await startServer([
      ...[
        await mirrorIn(folder),
        '--tls-cert',
        await write('server.pem', cert),
        '--tls-key',
        await write('server.key', key),
      ],
      ...['--tls-client-ca', await write('clients.pem', authority.ca)],
    ])
    expect(server.url).toMatch(/^https:/)
    const { ca } = authority
    expect(await callerOf(server.url, { tls: { ca, ...(await authority.issue({ name: 'CN=alice' })) } })).toBe(
      'mtls:alice',
    )
    expect(await callerOf(server.url, { tls: { ca, ...(await others.issue({ name: 'CN=alice' })) } })).toBe(
      'UNAUTHENTICATED',
    )
    expect(await callerOf(server.url, { tls: { ca } })).toBe('UNAUTHENTICATED')
  })
})

it('dragoman serve --base-path answers below the path only', async () => {
  await using server = await startServer(['--echo', '--base-path', '/agents/echo'])
  expect(new URL(server.url).pathname).toBe('/agents/echo/')
  const card = await fetch(new URL('.well-known/agent-card.json', server.url))
  const { supportedInterfaces } = (await card.json()) as AgentCard
  const [first] = supportedInterfaces.map(({ url }) => url).filter((url) => url.startsWith('http'))
  expect(first).toContain('/agents/echo')
  expect((await fetch(new URL('/.well-known/agent-card.json', server.url))).status).toBe(404)
  const sent = await runCommand(['send', server.url, 'hello'])
  expect(sent).toMatchObject({ code: 0, stdout: 'hello\n' })
})

it('dragoman serve --protect-card requires credentials for the card; other commands send them', async () => {
  await using server = await startServer(['--echo', '--api-key', 'the key', '--protect-card'])
  const ref = new URL(server.url).host
  expect((await fetch(`${server.url}.well-known/agent-card.json`)).status).toBe(401)
  expect(await runCommand(['send', ref, 'hello'])).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('protected'),
  })
  const known = ['--header', 'X-API-Key: the key']
  expect(await runCommand(['send', ref, 'hello', ...known])).toMatchObject({ code: 0, stdout: 'hello\n' })
  expect((await runCommand(['card', 'get', ref, '--raw', ...known])).stdout).toContain('"Echo"')
  const examined = await runCommand(['doctor', ref, ...known])
  expect([examined.code, examined.stdout]).toEqual([0, expect.stringContaining('protected: clients')])
  expect(examined.stdout).toContain('agent.json requires credentials')
})

describe('dragoman serve rejects', () => {
  it.each<[string[], string]>([
    [['--oidc', 'https://id.example'], '--oidc needs --audience'],
    [['--audience', 'me'], '--audience needs --oidc'],
    [['--oidc', 'http://id.example', '--audience', 'me'], 'must be an https address'],
    [['--tls-cert', 'a.pem'], 'give both --tls-cert and --tls-key, or neither'],
    [['--tls-client-ca', 'a.pem'], '--tls-client-ca needs --tls-cert'],
    [['--tls-cert', 'nothing.pem', '--tls-key', 'nothing.key'], 'cannot read nothing.pem'],
    [['--tls-cert', 'package.json', '--tls-key', 'package.json'], 'invalid certificate or key'],
    [['--api-key', 'k', '--no-auth'], '--no-auth contradicts'],
    [['--api-key', ''], 'none that is empty'],
    [['--protect-card'], '--protect-card needs --api-key, --bearer, --oidc or --tls-client-ca'],
    [['--host', '0.0.0.0'], 'pass --api-key, --bearer, --oidc or --tls-client-ca, or --no-auth'],
  ])('%s', async (args, sentence) => {
    const { code, stderr } = await runCommand(['serve', '--echo', '--port', '0', ...args])
    expect(code).toBe(2)
    expect(stderr).toContain(sentence)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })
})
