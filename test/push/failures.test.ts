/** Webhooks that fail, hang, redirect, or have forbidden addresses. */

import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import type { LogEntry } from 'dragoman/engine'
import { createSigner, generateSigningKey, type Signer } from 'dragoman/server'
import { until } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'
import { proves } from '../../conformance/proves.js'
import { type Answer, answerWith, type Call, distinct, eventsOf, hang, inTurn, ok, openHook } from './hook.js'
import { pushServer, storeKinds } from './served.js'

const whole = ['task WORKING', 'artifact hello', 'status COMPLETED']
const reset: Answer = (_call, response) => void response.socket?.resetAndDestroy()
const endless: Answer = (_call, response) => {
  response.writeHead(200)
  const more = () => {
    while (response.write('x'.repeat(64 * 1024)));
  }
  response.on('drain', more)
  more()
}

describe.each(storeKinds)('a webhook, on the %s store,', (store) => {
  it.each([
    ['answers 500', answerWith(500)],
    ['answers 404', answerWith(404)],
    ['responds with Retry-After', answerWith(429, { 'retry-after': '0' })],
    ['resets the connection', reset],
    ['hangs', hang],
    ['redirects', answerWith(307, { location: '/elsewhere' })],
  ])(proves('R-PDEL-4', 'that first %s gets the events again, in order'), async (_what, answer) => {
    await using hook = await openHook(inTurn(answer, ok, answer, answer))
    await using server = await pushServer({ store, push: { timeoutMs: 100 } })
    await server.send('hello', { url: hook.url })
    const calls = await until(() => eventsOf(hook.calls).includes(whole[2] ?? '') && hook.calls)
    // On a slow machine a response may arrive after the timeout: then there are more attempts, in the same order.
    const order = eventsOf(calls).map((event) => whole.indexOf(event))
    expect(order).toEqual(order.toSorted())
    expect(order.filter((place) => place === 0).length).toBeGreaterThanOrEqual(2)
    expect(order.filter((place) => place === 1).length).toBeGreaterThanOrEqual(3)
    expect(eventsOf(distinct(calls))).toEqual(whole)
    expect(calls.every(({ path }) => path === '/hook')).toBe(true)
    expect(await server.handler.push.deadLetters()).toEqual([])
  })

  it.each([
    ['fails', () => Promise.reject(new Error('the key service is down'))],
    ['never answers', () => new Promise<string>(() => undefined)],
  ])('is not called, and does not count as down, when the signer %s', async (_what, fail) => {
    const signer = await createSigner({ keys: [await generateSigningKey()] })
    let signJwt: Signer['signJwt'] = fail
    const signing: Signer = { ...signer, signJwt: (claims) => signJwt(claims) }
    await using hook = await openHook()
    await using server = await pushServer({
      store,
      push: { timeoutMs: 500, giveUpAfterMs: 0 },
      advanced: { signing },
    })
    await server.send('hello', { url: hook.url })
    const dead = await until(async () => {
      const letters = await server.handler.push.deadLetters()
      return letters.length === 3 && letters
    })
    expect(dead.map(({ error }) => error)).toEqual(Array(3).fill('The delivery could not be signed'))
    expect(hook.calls).toEqual([])
    expect(server.logged.filter((line) => line.startsWith('A delivery cannot be signed'))).toHaveLength(1)
    signJwt = signer.signJwt
    await server.send('hello', { url: hook.url })
    expect(eventsOf(await hook.received(3))).toEqual(whole)
  })

  it('that refuses the signature is named in one warning, with the issuer', async () => {
    await using hook = await openHook(answerWith(401))
    const signing = { keys: [await generateSigningKey()] }
    await using server = await pushServer({ store, publicUrl: 'http://127.0.0.1:8001', advanced: { signing } })
    await Promise.all([1, 2].map(() => server.send('hello', { url: hook.url, id: 'mine' })))
    await hook.received(6)
    expect(server.logged).toEqual([
      expect.stringMatching(
        /^Webhook mine did not accept event \d+; the delivery is retried: The webhook answered 401; deliveries are signed with issuer http:\/\/127\.0\.0\.1:8001$/,
      ),
    ])
  })

  it('whose response never ends counts as delivered', async () => {
    await using hook = await openHook(endless)
    await using server = await pushServer({ store })
    await server.send('hello', { url: hook.url })
    expect(eventsOf(await hook.received(3))).toEqual(whole)
  })

  it('that is gone is called once, and its dead letters can be listed and sent again', async () => {
    await using hook = await openHook(inTurn(answerWith(410), ok, answerWith(410)))
    await using server = await pushServer({ store })
    const { id: taskId } = await server.send('hello', { url: hook.url, id: 'mine' })
    const calls = await hook.received(3)
    expect(eventsOf(calls)).toEqual(whole)
    const dead = await until(async () => {
      const letters = await server.handler.push.deadLetters()
      return letters.length === 2 && letters
    })
    expect(dead).toMatchObject([
      { agent: 'Echo', taskId, owner: 'anonymous', configId: 'mine', attempts: 1, error: 'The webhook answered 410' },
      { taskId, configId: 'mine' },
    ])
    expect(dead.map(({ deliveryId }) => deliveryId)).toEqual(
      [calls[0], calls[2]].map((call) => call?.headers['x-a2a-delivery-id']),
    )
    // One warning for each origin and minute.
    expect(server.logged.filter((line) => line.startsWith('Gave up'))).toHaveLength(1)

    const [first, second] = dead.map(({ id }) => id)
    hook.answer = answerWith(500)
    expect(await server.handler.push.redeliver(first ?? '')).toEqual({
      isDelivered: false,
      error: 'The webhook answered 500',
    })
    hook.answer = ok
    for (const id of [first, second])
      expect(await server.handler.push.redeliver(id ?? '')).toEqual({ isDelivered: true })
    expect(await server.handler.push.redeliver(first ?? '')).toBeUndefined()
    expect(await server.handler.push.deadLetters()).toEqual([])
    expect(eventsOf(hook.calls.slice(-2))).toEqual([whole[0], whole[2]])
    expect(distinct(hook.calls)).toHaveLength(3)
  })

  it('that is down for too long is given up, without one attempt for each event', async () => {
    await using hook = await openHook(answerWith(500))
    await using server = await pushServer({ store, push: { giveUpAfterMs: 0 } })
    await server.send('chunks 500', { url: hook.url })
    await until(async () => (await server.handler.push.deadLetters({ limit: 1000 })).length === 503)
    expect(hook.calls.length).toBeLessThan(10)
    hook.answer = ok
    const before = hook.calls.length
    await server.send('hello', { url: hook.url })
    expect(eventsOf((await hook.received(before + 3)).slice(before))).toEqual(whole)
  })

  it('that refuses one event gets the others', async () => {
    await using hook = await openHook(({ text }, response) => {
      response.writeHead(text.includes('artifactUpdate') ? 500 : 200).end()
    })
    await using server = await pushServer({ store, push: { giveUpAfterMs: 0 } })
    await server.send('hello', { url: hook.url })
    expect(eventsOf(await hook.received(3))).toEqual(whole)
    await until(async () => (await server.handler.push.deadLetters()).length === 1)
  })

  it(proves(['R-PDEL-7', 'E-5'], 'that hangs delays no other webhook'), async () => {
    await using slow = await openHook(hang)
    await using quick = await openHook()
    await using server = await pushServer({ store, push: { concurrency: 4, perOrigin: 2, timeoutMs: 60_000 } })
    for (let n = 0; n < 20; n++) await server.send('hello', { url: slow.url })
    await slow.received(2)
    for (let n = 0; n < 5; n++) await server.send('hello', { url: quick.url })
    await quick.received(15)
    expect(slow.open.max).toBe(2)
  })

  it('that hangs does not use up the concurrency', async () => {
    await using quick = await openHook()
    const slow = await Promise.all([openHook(hang), openHook(hang)])
    await using server = await pushServer({ store, push: { concurrency: 2, timeoutMs: 60_000 } })
    for (const { url } of slow) await server.send('hello', { url })
    for (const hook of slow) await hook.received(1)
    await server.send('hello', { url: quick.url })
    await quick.received(3)
    for (const hook of slow) await hook[Symbol.asyncDispose]()
  })

  it('with many cursors at one origin gets few calls at a time, and every event', {
    timeout: 30_000,
  }, async () => {
    await using hook = await openHook()
    await using server = await pushServer({ store, push: { perOrigin: 3 } })
    await Promise.all(Array.from({ length: 60 }, () => server.send('hello', { url: hook.url })))
    await hook.received(180, 20_000)
    expect(hook.open.max).toBeLessThanOrEqual(3)
    const taskOf = ({ text }: Call) => /"(?:taskId|id)":"([^"]+)"/.exec(text)?.[1]
    const tasks = new Set(hook.calls.map(taskOf))
    expect(tasks.size).toBe(60)
    for (const id of tasks) expect(eventsOf(hook.calls.filter((call) => taskOf(call) === id))).toEqual(whole)
  })

  it('gets due events before the server closes, and not twice', async () => {
    await using hook = await openHook()
    await using server = await pushServer({ store })
    for (let n = 0; n < 10; n++) await server.send('hello', { url: hook.url })
    await server.handler.close({ deadlineMs: 10_000 })
    expect(hook.calls).toHaveLength(30)
    expect(distinct(hook.calls)).toHaveLength(30)
  })

  it('that hangs does not keep the server from closing, and gets its events from the next one', async () => {
    await using hook = await openHook(inTurn(hang))
    await using first = await pushServer({ store, push: { timeoutMs: 60_000 } })
    await first.send('hello', { url: hook.url })
    await hook.received(1)
    await first.handler.close({ deadlineMs: 0 })
    await using _second = await pushServer({ store: first.store })
    expect(eventsOf(distinct(await hook.received(4)))).toEqual(whole)
  })

  it(proves('E-5', 'gets ten thousand events, in order'), { timeout: 120_000 }, async () => {
    await using hook = await openHook()
    await using server = await pushServer({ store })
    await server.send('chunks 10000', { url: hook.url })
    const calls = await hook.received(10_003, 110_000)
    const events = eventsOf(distinct(calls)).slice(2, -1)
    expect(events).toEqual(Array.from({ length: 10_000 }, (_, n) => `artifact chunk ${n + 1} `))
  })
})

describe('addresses that must not be called', () => {
  const registering = async (url: string, push: object) => {
    await using server = await pushServer({ push: { allowHosts: [], ...push } })
    const { id } = await server.send('ask')
    await expect(server.send('hello', { url })).rejects.toThrow(/^configuration.taskPushNotificationConfig.url: /)
    return await server.register(id, { url }).then(
      () => 'registered',
      (error: Error) => error.message,
    )
  }

  it.each([
    ['http://hook.example/', /must be reached by https/],
    ['https://localhost/', /this machine/],
    ['https://127.0.0.1/', /this machine/],
    ['https://[::1]/', /this machine/],
    ['https://10.1.2.3/', /private network/],
    ['https://192.168.0.1/', /private network/],
    ['https://169.254.169.254/latest/meta-data', /link-local/],
    ['https://user:secret@hook.example/', /password/],
    ['https://hook.example:8080/', /Port 8080/],
  ])('are refused when they are registered: %s (R-PDEL-6)', async (url, reason) => {
    expect(await registering(url, { lookup: async () => ['203.0.114.5'], allowPorts: [443, 80] })).toMatch(reason)
  })

  it('are recognised by the URL alone, so that callers cannot learn which names exist inside (R-PDEL-6)', async () => {
    const entries: LogEntry[] = []
    const lookup = async (name: string) => {
      if (name === 'unknown.example') throw new Error('ENOTFOUND')
      if (name === 'silent.example') return await new Promise<never>(() => undefined)
      return name === 'inner.example' ? ['203.0.114.5', '10.0.0.1'] : ['203.0.114.5']
    }
    const push = { allowHosts: [], lookup, giveUpAfterMs: 0 }
    await using server = await pushServer({ push, log: (entry) => entries.push(entry) })
    const { id } = await server.send('ask')
    for (const name of ['public', 'inner', 'unknown', 'silent'])
      expect(await server.register(id, { url: `https://${name}.example/` })).toMatchObject({ taskId: id })
    const errors = () =>
      entries.filter(({ message }) => message.includes('registered webhook')).map(({ error }) => error)
    await until(() => errors().length >= 2)
    expect(errors().map(String).join()).toMatch(
      /inner.example is on a private network.*unknown.example cannot be reached/,
    )
  })

  it('are logged once for each host and minute, and 20 times at most', async () => {
    const entries: LogEntry[] = []
    const log = (entry: LogEntry) => entries.push(entry)
    const names = new Set<string>()
    const lookup = async (name: string) => {
      names.add(name)
      throw new Error('ENOTFOUND')
    }
    await using server = await pushServer({ push: { allowHosts: [], lookup, giveUpAfterMs: 0 }, log })
    const { id } = await server.send('ask')
    const register = (url: string) => server.register(id, { id: 'same', url })
    for (let number = 0; number < 30; number++) await register(`https://one.example/${number}`)
    for (let number = 0; number < 30; number++) await register(`https://made-up-${number}.example/`)
    await until(() => names.size === 31)
    const warnings = () => entries.filter(({ message }) => message.includes('registered webhook'))
    await until(() => warnings().length >= 20)
    expect(warnings()).toHaveLength(20)
    expect(warnings().filter(({ error }) => String(error).includes('one.example'))).toHaveLength(1)
    expect(warnings()[1]?.message).toBe('A registered webhook cannot be called (29 more since the last entry)')
  })

  it.each([
    ['retries', 60_000, 'did not accept event'],
    ['dead letters', 0, 'Gave up'],
  ])(
    'cause at most 20 warnings a minute about %s, with any number of made-up origins',
    async (_what, giveUpAfterMs, text) => {
      const lookups = new Map<string, number>()
      const lookup = async (name: string) => {
        lookups.set(name, (lookups.get(name) ?? 0) + 1)
        throw new Error('ENOTFOUND')
      }
      await using server = await pushServer({ push: { allowHosts: [], lookup, giveUpAfterMs } })
      for (let number = 0; number < 30; number++)
        await server.send('hello', { url: `https://made-up-${number}.example/` })
      // The registration, the first attempt, and an attempt after the first has been logged.
      await until(() => lookups.size === 30 && [...lookups.values()].every((count) => count >= 3))
      expect(server.logged.filter((line) => line.includes(text))).toHaveLength(20)
    },
  )

  it('are not called when a name resolves to them later (R-PDEL-6)', async () => {
    await using hook = await openHook()
    const { port } = new URL(hook.url)
    let lookups = 0
    const lookup = async () => {
      lookups += 1
      return lookups === 1 ? ['203.0.114.5'] : ['127.0.0.1']
    }
    await using server = await pushServer({ push: { allowHosts: [], httpsOnly: false, lookup, giveUpAfterMs: 0 } })
    await server.send('hello', { url: `http://rebound.example:${port}/hook` })
    const [dead] = await until(async () => {
      const letters = await server.handler.push.deadLetters()
      return letters.length > 0 && letters
    })
    expect(dead?.error).toMatch(/rebound.example is this machine/)
    expect(hook.calls).toEqual([])
  })

  it.each([
    ['url', { url: 'https://hook.example/\r\nX-Evil: 1' }],
    ['url', { url: 'https://hook.example/a b' }],
    ['token', { token: 'a\r\nX-Evil: 1' }],
    ['token', { token: 'a\0b' }],
    ['token', { token: 'schlüssel' }],
    ['authentication.credentials', { authentication: { scheme: 'Bearer', credentials: 'a\nb' } }],
    ['authentication.scheme', { authentication: { scheme: 'Bearer: x', credentials: 'a' } }],
    ['authentication.scheme', { authentication: { scheme: 'x'.repeat(256), credentials: 'a' } }],
  ])('are not accepted with values that cannot be in a header: %s %j', async (field, given) => {
    await using server = await pushServer({ push: { lookup: async () => [] } })
    const { id } = await server.send('ask')
    const refusal = server.register(id, { url: 'https://hook.example/', ...given })
    await expect(refusal).rejects.toThrow(new RegExp(`^${field.replace('.', '\\.')}: `))
  })

  it('are rejected without a response to the challenge, if enabled (RL-01-9)', async () => {
    await using server = await pushServer({ push: { challenge: true } })
    const { id } = await server.send('ask')
    await using silent = await openHook()
    await expect(server.register(id, { url: silent.url })).rejects.toThrow(/validationToken/)
    await using long = await openHook(endless)
    await expect(server.register(id, { url: long.url })).rejects.toThrow(/validationToken/)
    await using owned = await openHook(({ path }, response) => {
      response.writeHead(200).end(new URL(path, 'http://x').searchParams.get('validationToken') ?? '')
    })
    await server.register(id, { url: `${owned.url}?a=1` })
    expect(owned.calls.map(({ method, path }) => [method, path.startsWith('/hook?a=1&validationToken=')])).toEqual([
      ['GET', true],
    ])
  })

  it('cannot add headers: escapes in the URL stay escaped on the wire', async () => {
    const seen: string[] = []
    const server = createServer((socket) => {
      socket.on('data', (data) => seen.push(String(data)))
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo // it listens on a port
    try {
      await using agent = await pushServer({ push: { timeoutMs: 100 } })
      await agent.send('hello', { url: `http://127.0.0.1:${port}/a?b=%0d%0aX-Evil:1`, token: 'tk' })
      await until(() => seen.length > 0)
      expect(seen[0]).toMatch(/^POST \/a\?b=%0d%0aX-Evil:1 HTTP\/1\.1\r\n/)
    } finally {
      server.close()
    }
  })
})

describe('webhooks of a task', () => {
  it('are limited per task', async () => {
    const lookup = async () => []
    await using server = await pushServer({ limits: { pushConfigsPerTask: 2 }, push: { lookup } })
    const { id: taskId } = await server.send('ask', { url: 'https://hook.example/', id: 'a' })
    await server.register(taskId, { url: 'https://hook.example/', id: 'b' })
    await expect(server.register(taskId, { url: 'https://hook.example/', id: 'c' })).rejects.toThrow(
      /limit pushConfigsPerTask: 2/,
    )
    await expect(server.send('x', { url: 'https://hook.example/' }, { taskId })).rejects.toThrow(
      /limit pushConfigsPerTask: 2/,
    )
    await server.register(taskId, { url: 'https://hook.example/b', id: 'b' })
    await server.send('x', { url: 'https://hook.example/a', id: 'a' }, { taskId })
  })

  it('are checked by the address rules, which no option replaces', async () => {
    const unknown = { checkWebhook: async () => undefined } as object
    await expect(pushServer({ advanced: { engine: unknown } })).rejects.toThrow(
      /Unknown option of createHandler\.advanced\.engine: checkWebhook/,
    )
    await using server = await pushServer({ push: { allowHosts: [] } })
    await expect(server.send('hello', { url: 'http://127.0.0.1:9/hook' })).rejects.toThrow(/url/)
  })

  it('show their secrets to the caller that set them, or to none (R-PUSH-9)', async () => {
    const secret = { token: 'tk', authentication: { scheme: 'Bearer', credentials: 's3cr3t' } }
    const url = 'https://hook.example/'
    for (const pushSecrets of ['creator', 'owner', 'never'] as const) {
      await using server = await pushServer({ push: { lookup: async () => [] }, advanced: { engine: { pushSecrets } } })
      const { id: taskId } = await server.send('ask')
      const made = await server.register(taskId, { url, id: 'a', ...secret })
      expect(made).toEqual({ taskId, url, id: 'a', ...secret })
      const seen = await server.call('GetTaskPushNotificationConfig', { taskId, id: 'a' })
      const without = { taskId, url, id: 'a', authentication: { scheme: 'Bearer' } }
      expect(seen).toEqual(pushSecrets === 'never' ? without : made)
      const { configs } = await server.call<{ configs: unknown[] }>('ListTaskPushNotificationConfigs', { taskId })
      expect(configs).toEqual([seen])
    }
  })
})
