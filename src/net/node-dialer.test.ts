import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { certificate as cert, key } from '../../test/matrix/certificate.js'
import { serveHttp } from '../client/http-server.fixture.js'
import { AddressRefused, type AddressRule } from './address-rules.js'
import { createGuardedDialer, type DialerOptions, type GuardedDialer } from './node-dialer.js'

const dialers: GuardedDialer[] = []
/** Takes a name service of `answering` as it is. */
function dialer({ asked: _, ...options }: DialerOptions & { readonly asked?: readonly string[] } = {}): GuardedDialer {
  const made = createGuardedDialer(options)
  dialers.push(made)
  return made
}
afterEach(async () => {
  for (const each of dialers.splice(0)) await each.close()
})

async function refusal(promise: Promise<unknown>): Promise<AddressRefused> {
  const caught = await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(caught).toBeInstanceOf(AddressRefused)
  return caught as AddressRefused // the line above checks the class
}

/** A name service that gives its answers one after the other, and the last one for ever. */
function answering(...answers: readonly (readonly string[])[]) {
  const asked: string[] = []
  return {
    asked,
    lookup: async (name: string) => {
      asked.push(name)
      return answers[Math.min(asked.length, answers.length) - 1] ?? []
    },
  }
}

const everywhere = ['93.184.215.14']

describe('checking an address', () => {
  const cases: readonly (readonly [AddressRule, readonly string[]])[] = [
    ['syntax', ['', 'hooks.example', 'https://', 'https://[fe80::1%25eth0]/', 'https://[::1', 'https://a b/']],
    ['syntax', ['https://1.2.3.4.5/', 'https://256.256.256.256/', 'https://example.com:99999/', 'https://٣.0.0.1/']],
    ['scheme', ['http://hooks.example/', 'ftp://hooks.example/', 'file:///etc/passwd', 'data:,x', 'gopher://a/']],
    ['credentials', ['https://user@hooks.example/', 'https://:secret@hooks.example/', 'https://8.8.8.8@127.0.0.1/']],
    ['place', ['https://127.0.0.1/', 'https://127.1/', 'https://2130706433/', 'https://0x7f000001/', 'https://0/']],
    [
      'place',
      ['https://0177.0.0.1/', 'https://0x7f.1/', 'https://127.0.0.1./', 'https://①②⑦.0.0.1/', 'https://0.0.0.0/'],
    ],
    ['place', ['https://127。0。0。1/', 'https://127.0.0.1:8443/', 'https:127.0.0.1', 'https:\\\\127.0.0.1\\']],
    [
      'place',
      [
        'https://localhost/',
        'https://localhost./',
        'https://LOCALHOST/',
        'https://a.localhost./',
        'https://ⓛocalhost/',
      ],
    ],
    ['place', ['https://[::]/', 'https://[::1]/', 'https://[0:0:0:0:0:0:0:1]/', 'https://[::ffff:127.0.0.1]/']],
    [
      'place',
      ['https://[::ffff:7f00:1]/', 'https://[::127.0.0.1]/', 'https://[64:ff9b::7f00:1]/', 'https://[64:ff9b:1::1]/'],
    ],
    ['place', ['https://[2002:7f00:1::]/', 'https://[fc00::1]/', 'https://[fe80::1]/', 'https://[ff02::1]/']],
    ['place', ['https://10.0.0.1/', 'https://172.16.0.1/', 'https://192.168.0.1/', 'https://100.64.0.1/']],
    [
      'place',
      ['https://169.254.169.254/', 'https://[fd00:ec2::254]/', 'https://100.100.100.200/', 'https://224.0.0.1/'],
    ],
    ['place', ['https://255.255.255.255/', 'https://198.18.0.1/', 'https://192.0.2.1/', 'https://240.0.0.1/']],
  ]
  it.each(cases.flatMap(([rule, urls]) => urls.map((url) => [url, rule] as const)))(
    'refuses %s by the rule %s, when it is registered and when it is dialled',
    async (url, rule) => {
      const guarded = dialer(answering(everywhere))
      expect((await refusal(guarded.check(url))).rule).toBe(rule)
      expect((await refusal(guarded.fetch(url))).rule).toBe(rule)
      expect((await refusal(guarded.request(url, { method: 'GET' }))).rule).toBe(rule)
    },
  )

  it.each(['https://hooks.example/', 'https://hooks.example./', 'https://8.8.8.8/', 'https://[2606:4700::1111]/'])(
    'has nothing against %s',
    (url) => expect(dialer(answering(everywhere)).check(url)).resolves.toBeUndefined(),
  )

  it('asks for a name as DNS has it', async () => {
    const names = answering(everywhere)
    await dialer(names).check('https://München.example/')
    expect(names.asked).toEqual(['xn--mnchen-3ya.example'])
  })

  it.each([
    ['one private address', ['10.0.0.1']],
    ['a private one among others', ['93.184.215.14', '10.0.0.1']],
    ['this machine among others', ['2606:4700::1111', '::1']],
    ['an address with a zone', ['fe80::1%eth0']],
    ['an embedded address', ['::ffff:169.254.169.254']],
    ['what is no address', ['nonsense']],
  ])('refuses a name with %s', async (_, addresses) => {
    const guarded = dialer(answering(addresses))
    expect((await refusal(guarded.check('https://hooks.example/'))).rule).toBe('place')
    expect((await refusal(guarded.fetch('https://hooks.example/'))).rule).toBe('place')
  })

  it('rejects a name without addresses', async () => {
    expect((await refusal(dialer(answering([])).check('https://hooks.example/'))).rule).toBe('name')
    expect((await refusal(dialer(answering([])).fetch('https://hooks.example/'))).rule).toBe('name')
    const unknown = dialer({ lookup: () => Promise.reject(new Error('ENOTFOUND')) })
    expect((await refusal(unknown.check('https://hooks.example/'))).message).toContain('not known')
    expect((await refusal(dialer().check('https://no-such-name.invalid/'))).rule).toBe('name')
  })

  it('does not wait for ever for a name service, nor for a caller who has left', async () => {
    const silent = { lookup: () => new Promise<never>(() => undefined) }
    const hasty = dialer({ ...silent, connectTimeoutMs: 20 })
    await expect(hasty.check('https://hooks.example/')).rejects.toMatchObject({ name: 'TimeoutError' })
    await expect(hasty.fetch('https://hooks.example/')).rejects.toMatchObject({
      cause: { code: 'UND_ERR_CONNECT_TIMEOUT' },
    })
    const guarded = dialer(silent)
    const controller = new AbortController()
    const waiting = [
      guarded.check('https://hooks.example/', { signal: controller.signal }),
      guarded.fetch('https://hooks.example/', { signal: controller.signal }),
      guarded.request('https://hooks.example/', { method: 'GET', signal: controller.signal }),
    ].map((each) => expect(each).rejects.toMatchObject({ name: 'AbortError' }))
    controller.abort()
    await Promise.all(waiting)
  })

  it('keeps to the ports it was given, for allowed hosts too', async () => {
    const guarded = dialer({ ...answering(everywhere), allowPorts: [443, 8443], allowHosts: ['localhost'] })
    await guarded.check('https://hooks.example/')
    await guarded.check('https://hooks.example:8443/')
    expect((await refusal(guarded.check('https://hooks.example:22/'))).rule).toBe('port')
    expect((await refusal(guarded.check('http://localhost/'))).rule).toBe('port')
  })

  it('rejects invalid hosts at once', () => {
    for (const host of ['https://hooks.internal', 'hooks.internal:80', 'localhost:8080', '', 'a/b'])
      expect(() => createGuardedDialer({ allowHosts: [host] })).toThrow('Invalid host in `allowHosts`')
  })
})

describe('dialling', () => {
  it('dials the checked address, even if the name resolves to another one later (DNS rebinding)', async () => {
    await using inside = await serveHttp((_, response) => response.end('secret'))
    const names = answering(everywhere, ['127.0.0.1'])
    const guarded = dialer({ ...names, httpsOnly: false })
    const url = `http://hooks.example:${inside.port}/`
    await guarded.check(url)
    expect((await refusal(guarded.fetch(url))).rule).toBe('place')
    expect(inside.seen).toEqual([])
  })

  it('asks once for a connection, and uses connections again', async () => {
    await using server = await serveHttp(({ headers }, response) => response.end(headers.host))
    const names = answering(['127.0.0.1'])
    const guarded = dialer({ ...names, allowHosts: ['hooks.internal'] })
    const url = `http://hooks.internal:${server.port}/`
    for (let count = 0; count < 20; count++) {
      expect(await (await guarded.fetch(url)).text()).toBe(`hooks.internal:${server.port}`)
      const { statusCode, body } = await guarded.request(url, { method: 'POST', body: 'hello' })
      expect([statusCode, await body.text()]).toEqual([200, `hooks.internal:${server.port}`])
      expect(server.seen.at(-1)?.body).toBe('hello')
    }
    // A connection is free a moment after its answer was read, so that there may be a second one.
    expect(names.asked.length).toBeLessThanOrEqual(2)
    expect(server.connections()).toBe(names.asked.length)
  })

  it('lets a host be anywhere that is allowed by name, and no other', async () => {
    await using server = await serveHttp((_, response) => response.end('ok'))
    const guarded = dialer({ ...answering(['127.0.0.1']), allowHosts: ['hooks.internal'] })
    expect(await (await guarded.fetch(`http://HOOKS.internal.:${server.port}/`)).text()).toBe('ok')
    for (const host of ['other.internal', 'hooks.internal.evil.example', 'a.hooks.internal', '127.0.0.1', 'localhost'])
      expect((await refusal(guarded.fetch(`https://${host}:${server.port}/`))).rule).toBe('place')
    const local = dialer({ allowHosts: ['localhost'] })
    for (const host of ['localhost', '127.0.0.1', '2130706433'])
      expect(await (await local.fetch(`http://${host}:${server.port}/`)).text()).toBe('ok')
  })

  it('allows private addresses and http with the options for it', async () => {
    await using server = await serveHttp((_, response) => response.end('ok'))
    expect((await refusal(dialer({ allowPrivate: true }).fetch(server.origin))).rule).toBe('scheme')
    expect((await dialer({ allowPrivate: true, httpsOnly: false }).fetch(server.origin)).status).toBe(200)
  })

  it('refuses to dial when the runtime replaces the Agent of undici, as Bun does', async () => {
    await using inside = await serveHttp((_, response) => response.end('secret'))
    vi.resetModules()
    // Bun's replacement: an Agent without methods, and a `fetch` that ignores the dispatcher.
    const unguarded = (url: URL) => fetch(url)
    const replacement = { Agent: class {}, buildConnector: () => () => {}, fetch: unguarded, request: unguarded }
    vi.doMock('undici', () => replacement)
    vi.doMock('undici/index.js', () => replacement)
    try {
      const { createGuardedDialer: create } = await import('./node-dialer.js')
      const guarded = create({ httpsOnly: false, lookup: async () => everywhere })
      const url = `http://localhost:${inside.port}/`
      await expect(guarded.fetch(url)).rejects.toThrow('not the npm package')
      await expect(guarded.request(url, { method: 'GET' })).rejects.toThrow('not the npm package')
      await guarded.close()
      expect(inside.seen).toEqual([])
    } finally {
      vi.doUnmock('undici')
      vi.doUnmock('undici/index.js')
      vi.resetModules()
    }
  })

  it('leaves redirects to its caller', async () => {
    await using server = await serveHttp((_, response) => response.writeHead(302, { location: '/next' }).end())
    const response = await dialer({ allowHosts: ['localhost'] }).fetch(server.origin)
    expect([response.status, response.headers.get('location'), server.seen.length]).toEqual([302, '/next', 1])
  })

  it('checks every address of a redirect', async () => {
    await using inside = await serveHttp((_, response) => response.end('secret'))
    for (const [location, rule] of [
      [`http://127.0.0.1:${inside.port}/`, 'place'],
      [`http://inside.example:${inside.port}/`, 'place'],
      ['http://other.internal:4444/', 'port'],
    ]) {
      await using server = await serveHttp((_, response) => response.writeHead(302, { location }).end())
      const guarded = dialer({
        httpsOnly: false,
        allowHosts: ['hooks.internal', 'other.internal'],
        allowPorts: [server.port, inside.port],
        lookup: async () => ['127.0.0.1'],
      })
      const followed = guarded.fetch(`http://hooks.internal:${server.port}/`, { redirect: 'follow' })
      expect((await refusal(followed)).rule).toBe(rule)
    }
    expect(inside.seen).toEqual([])
  })

  it('reaches a server on 127.0.0.1 by a name that leads to ::1 first', async () => {
    await using server = await serveHttp((_, response) => response.end('here'))
    const guarded = dialer({ allowHosts: ['localhost'], lookup: async () => ['::1', '127.0.0.1'] })
    expect(await (await guarded.fetch(`http://localhost:${server.port}/`)).text()).toBe('here')
  })

  it('passes the name to TLS, and sends a client certificate', async () => {
    const names: unknown[] = []
    const server = createTlsServer(
      { cert, key, ca: cert, requestCert: true, rejectUnauthorized: true },
      (request, response) => {
        const socket = request.socket as TLSSocket // it is a TLS server
        names.push((socket as { servername?: string }).servername, request.headers.host)
        response.end(socket.getPeerCertificate().subject.CN)
      },
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo // it listens on a port
    try {
      const url = `https://localhost:${port}/`
      const options: DialerOptions = { allowHosts: ['localhost'], lookup: async () => ['127.0.0.1'] }
      const response = await dialer({ ...options, tls: { cert, key, ca: cert } }).fetch(url)
      expect(await response.text()).toBe('localhost')
      expect(names).toEqual(['localhost', `localhost:${port}`])
      await expect(dialer({ ...options, tls: { cert, key } }).fetch(url)).rejects.toMatchObject({
        cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
      })
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  it('aborts running requests when it is closed, and starts no others', async () => {
    await using server = await serveHttp(() => undefined)
    const guarded = dialer({ allowHosts: ['localhost'] })
    const waiting = expect(guarded.fetch(server.origin)).rejects.toThrow()
    await expect.poll(() => server.seen.length).toBe(1)
    await guarded.close()
    await waiting
    await expect(guarded.fetch(server.origin)).rejects.toThrow('closed')
  })
})
