/** `dragoman console`: access, and credentials for agents. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { runCommand, startProcess, startServer, temporaryFolder } from './server-process.js'

afterEach(() => {
  vi.unstubAllEnvs()
})

const ours = { 'x-dragoman-console': '1', 'content-type': 'application/json' }

const enter = (url: string, body: object) =>
  fetch(new URL('/console/api/session', url), { method: 'POST', headers: ours, body: JSON.stringify(body) })

describe('dragoman console', () => {
  it('prints a URL with a token if it listens beyond loopback', async () => {
    await using console = await startProcess(['console', '--port', '0', '--host', '0.0.0.0'])
    const token = new URL(console.url).searchParams.get('token')
    expect((await enter(console.url, {})).status).toBe(401)
    expect((await enter(console.url, { token })).status).toBe(200)
  })

  it('accepts the authentication options of dragoman serve', async () => {
    const access = ['--api-key', 'open sesame', '--bearer', 'a-token']
    await using console = await startProcess(['console', '--port', '0', '--host', '0.0.0.0', ...access])
    expect(console.url).not.toContain('token')
    const refused = await enter(console.url, {})
    expect([refused.status, await refused.json()]).toMatchObject([
      401,
      { asks: { securitySchemes: { apiKey: {}, bearer: {} } } },
    ])
    const credentials = { apiKey: { kind: 'apiKey', key: 'open sesame' } }
    expect((await enter(console.url, { credentials })).status).toBe(200)
    expect((await enter(console.url, { credentials: { bearer: { kind: 'bearer', token: 'a-token' } } })).status).toBe(
      200,
    )
  })

  it('calls its agents with the stored credentials of dragoman auth login', async () => {
    // Test commands do not use the credential folder of the user.
    await using folder = await temporaryFolder()
    vi.stubEnv('DRAGOMAN_CONFIG_DIR', folder.path)
    await using agent = await startServer(['--echo', '--api-key', 'open sesame'])
    const login = await runCommand(['auth', 'login', agent.url, '--api-key', 'open sesame'])
    expect(login.code).toBe(0)
    await using console = await startProcess(['console', '--port', '0', '--agent', agent.url])
    const entered = await enter(console.url, {})
    const [cookie = ''] = entered.headers.getSetCookie()
    expect(await entered.json()).toMatchObject({ agents: [{ ref: agent.url, hasOwnCredential: true }] })
    const params = { message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } }
    const answer = await fetch(new URL(`/console/a2a/${encodeURIComponent(agent.url)}/auto/auto`, console.url), {
      method: 'POST',
      headers: { ...ours, cookie, 'a2a-version': '1.0' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params }),
    })
    expect(await answer.json()).toMatchObject({ result: { task: { artifacts: [{ parts: [{ text: 'hello' }] }] } } })
  })

  it.each([
    [['--oidc', 'https://id.example'], '--audience'],
    [['--tls-client-ca', 'ca.pem'], '--tls-cert'],
    [['--agent', 'localhost:1', '--client-cert', 'me.pem'], '--client-key'],
    [['--api-key', ''], 'secret'],
  ])('rejects %j with a message', async (args, word) => {
    const { code, stderr } = await runCommand(['console', '--port', '0', ...args])
    expect([code, stderr]).toEqual([2, expect.stringContaining(word)])
  })
})
