/** `dragoman auth login` by OAuth 2: with client credentials, a device code and a browser. Later processes use the stored tokens. */

import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { within } from '../hostile/waiting.js'
import { cli, InteractiveCommand } from './cli-command.js'
import { temporaryFolder } from './server-process.js'

type Flow = 'clientCredentials' | 'deviceCode' | 'authorizationCode'

interface OAuthAgent extends AsyncDisposable {
  readonly ref: string
  /** The grant types of the token requests. */
  readonly grants: string[]
}

describe('dragoman auth login --client-id', () => {
  it('gets a token with client credentials, stores it, and prints neither it nor the secret', async () => {
    await using folder = await temporaryFolder()
    await using agent = await oauthAgent('clientCredentials')
    const configFolder = folder.path
    const login = await cli(['auth', 'login', agent.ref, '--client-id', 'me', '--client-secret', '-', '--debug'], {
      configFolder,
      stdin: 'hush-hush-secret',
    })
    expect(login).toMatchObject({ code: 0, stdout: `Stored a credential (oauth2) for http://${agent.ref}\n` })
    const sends = [
      await cli(['send', agent.ref, 'hi', '--debug'], { configFolder }),
      await cli(['send', agent.ref, 'hi'], { configFolder }),
    ]
    for (const { code, stdout, stderr } of sends)
      expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: 'welcome\n' })
    expect(agent.grants).toEqual(['client_credentials'])
    const status = await cli(['auth', 'status'], { configFolder })
    expect(status.stdout).toMatch(/^http:\S+ +oauth2 +me, token expires at \S+\n$/)
    const shown = [login, ...sends, status].map(({ stdout, stderr }) => stdout + stderr).join('')
    expect(shown).not.toMatch(/hush|token-1/)
    expect(await readFile(join(configFolder, 'credentials.json'), 'utf8')).toContain('token-1')
    await cli(['auth', 'logout', agent.ref], { configFolder })
    expect(await readFile(join(configFolder, 'credentials.json'), 'utf8')).not.toMatch(/hush|token-1/)
    expect(await cli(['send', agent.ref, 'hi'], { configFolder })).toMatchObject({ code: 4 })
  })

  it('shows a code to enter on another device', async () => {
    await using folder = await temporaryFolder()
    await using agent = await oauthAgent('deviceCode')
    const { code, stderr } = await cli(['auth', 'login', agent.ref, '--client-id', 'me', '--flow', 'device'], {
      configFolder: folder.path,
    })
    expect(code).toBe(0)
    expect(stderr).toMatch(/^Open http:\S+\/enter and enter the code ABCD-EFGH\n$/)
    expect(await cli(['send', agent.ref, 'hi'], { configFolder: folder.path })).toMatchObject({ code: 0 })
  })

  it('waits for the browser and verifies the state of the login', async () => {
    await using folder = await temporaryFolder()
    await using agent = await oauthAgent('authorizationCode')
    await using login = new InteractiveCommand(['auth', 'login', agent.ref, '--client-id', 'me', '--flow', 'browser'], {
      configFolder: folder.path,
    })
    login.end()
    const [, address = ''] = await login.waitForOutput(/Log in here, if no browser opens: (\S+)/)
    expect(new URL(address).searchParams.get('code_challenge_method')).toBe('S256')
    const page = await fetch(address)
    expect(await page.text()).toBe('You can close this window.')
    expect(await within(5000, 'the login to end', login.exit)).toMatchObject({ code: 0 })
    expect(await cli(['send', agent.ref, 'hi'], { configFolder: folder.path })).toMatchObject({ code: 0 })
  })

  it('names the login command if only a browser login can renew the token', async () => {
    await using folder = await temporaryFolder()
    await using agent = await oauthAgent('deviceCode')
    const options = ['--client-id', 'me', '--flow', 'device', '--no-check']
    expect(await cli(['auth', 'login', agent.ref, ...options], { configFolder: folder.path })).toMatchObject({
      code: 0,
    })
    const { code, stderr } = await cli(['send', agent.ref, 'hi'], { configFolder: folder.path })
    expect(code).toBe(4)
    expect(stderr).toContain(`dragoman auth login ${agent.ref}`)
  })
})

/** An agent and its authorization server at one address. */
async function oauthAgent(flow: Flow): Promise<OAuthAgent> {
  const grants: string[] = []
  let polls = 0
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const ref = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const origin = `http://${ref}`

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', origin)
    const body = await text(request)
    const send = (status: number, value: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (url.pathname === '/.well-known/agent-card.json') send(200, card(origin, flow))
    else if (url.pathname === '/device')
      send(200, {
        device_code: 'd',
        user_code: 'ABCD-EFGH',
        verification_uri: `${origin}/enter`,
        expires_in: 60,
        interval: 1,
      })
    else if (url.pathname === '/authorize') {
      const back = new URL(url.searchParams.get('redirect_uri') ?? '')
      back.search = new URLSearchParams({ code: 'c', state: url.searchParams.get('state') ?? '' }).toString()
      response.writeHead(302, { location: back.href }).end()
    } else if (url.pathname === '/token') {
      polls += 1
      if (flow === 'deviceCode' && polls === 1) return void send(400, { error: 'authorization_pending' })
      grants.push(new URLSearchParams(body).get('grant_type') ?? '')
      send(200, { access_token: `token-${grants.length}`, token_type: 'Bearer', expires_in: 3600 })
    } else if (!/^Bearer token-\d+$/.test(request.headers.authorization ?? '')) {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
    } else {
      const { id, method } = JSON.parse(body) as { id: number; method: string }
      const message = { messageId: 'm', contextId: 'c', role: 'ROLE_AGENT', parts: [{ text: 'welcome' }] }
      const result = method === 'ListTasks' ? { tasks: [], nextPageToken: '', pageSize: 1, totalSize: 0 } : { message }
      send(200, { jsonrpc: '2.0', id, result })
    }
  }

  return {
    ref,
    grants,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function card(origin: string, flow: Flow): object {
  const endpoints = {
    clientCredentials: { tokenUrl: `${origin}/token` },
    deviceCode: { tokenUrl: `${origin}/token`, deviceAuthorizationUrl: `${origin}/device` },
    authorizationCode: { tokenUrl: `${origin}/token`, authorizationUrl: `${origin}/authorize` },
  }[flow]
  return {
    name: 'Closed',
    description: 'Asks who is there',
    version: '1.0.0',
    supportedInterfaces: [{ url: `${origin}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 'S', description: 'd', tags: ['t'] }],
    securitySchemes: {
      login: { oauth2SecurityScheme: { flows: { [flow]: { ...endpoints, scopes: { use: 'Use it' } } } } },
    },
    securityRequirements: [{ schemes: { login: { list: ['use'] } } }],
  }
}

async function text(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
