/** Fuzzes the three APIs with seeded requests. No API returns an internal error. */
import { expect, it } from 'vitest'
import { createRegistry } from '../create-registry.js'
import { cardFor } from '../registry.fixture.js'

/** Numbers from 0 to 1 that look random (a linear congruential generator). */
function numbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

const nacos = '/nacos/v3/admin/ai/a2a'
const anyMethod = ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS']
/** `FUZZ_ROUNDS=100000` runs more rounds. */
const rounds = Number(process.env.FUZZ_ROUNDS ?? 1500)

it.each([1, 2, 3])('no API fails for random requests (%i)', async (seed) => {
  const random = numbers(seed)
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item
  const failures: unknown[] = []
  await using registry = await createRegistry({
    allowPrivate: true,
    probes: false,
    limits: { rate: 'none' },
    log: (entry) => failures.push(entry),
  })

  const texts = [
    ...[
      '',
      ' ',
      'a',
      'shout',
      '1.0.0',
      'latest',
      '__proto__',
      'constructor',
      'toString',
      '天气',
      '🚀',
      '\ud800',
      '\u0000',
      '%',
      '%zz',
    ],
    ...[
      '../..',
      'a/b',
      'NaN',
      '-1',
      '0',
      '1e309',
      '9007199254740993',
      'true',
      'null',
      '{}',
      '[',
      "'",
      '"',
      "tags = 'a' AND",
      ' AND ',
    ],
    ...[
      "displayName = '",
      "createdAfter > 'x'",
      'orderBy',
      'displayName DESC',
      'x'.repeat(5000),
      '中'.repeat(3000),
      'http://127.0.0.1:9/',
    ],
    ...[
      'javascript:alert(1)',
      'blur',
      'accurate',
      'URL',
      'SERVICE',
      'application/json',
      'a.b.c',
      'metadata.name',
      'skills.0',
      'kYQ',
      'bm9uc2Vuc2U',
    ],
  ]
  const scalars: readonly unknown[] = [
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e308,
    {},
    [],
    { toString: 1, valueOf: 1 },
    { length: -1 },
  ]
  const value = (depth = 0): unknown => {
    const kind = random()
    if (kind < 0.4) return pick(texts)
    if (kind < 0.7 || depth > 3) return pick(scalars)
    if (kind < 0.85) return Array.from({ length: Math.floor(random() * 5) }, () => value(depth + 1))
    return Object.fromEntries(Array.from({ length: Math.floor(random() * 5) }, () => [pick(texts), value(depth + 1)]))
  }
  /** A valid value with some parts replaced by random values. */
  const corrupted = (good: unknown, depth = 0): unknown => {
    if (random() < 0.08) return value()
    if (Array.isArray(good)) return good.map((each) => corrupted(each, depth + 1))
    if (typeof good !== 'object' || good === null) return good
    const members = Object.entries(good).filter(() => random() > 0.03)
    return Object.fromEntries(members.map(([name, each]) => [name, corrupted(each, depth + 1)]))
  }
  const bodies: Readonly<Record<string, () => unknown>> = {
    publish: () => ({
      card: cardFor('Shout'),
      instance: 'one',
      tags: ['a'],
      ttlSeconds: 30,
      latest: true,
      probe: { text: 'x' },
    }),
    renew: () => ({ version: '1.0.0', instance: 'one' }),
    search: () => ({
      query: { text: 'shout', filter: { tags: ['test'], publisher: 'x' } },
      federation: 'auto',
      pageSize: 5,
      pageToken: '1',
    }),
    explore: () => ({ query: { text: 'shout' }, resultType: { facets: [{ field: 'tags', limit: 2, minCount: 1 }] } }),
    anything: () => value(),
  }
  const names = [
    'version',
    'instance',
    'includeUnhealthy',
    'namespace',
    'text',
    'skill',
    'tag',
    'limit',
    'cursor',
    'after',
    'filter',
    'orderBy',
  ]
  names.push(
    'pageSize',
    'pageToken',
    'agentName',
    'namespaceId',
    'search',
    'pageNo',
    'registrationType',
    'setAsLatest',
    'agentCard',
  )
  const query = () => {
    const given = Array.from({ length: Math.floor(random() * 4) }, (): [string, string] => [pick(names), pick(texts)])
    return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
  }
  const segment = () => encodeURIComponent(pick(texts).toWellFormed().slice(0, 600))
  /** Paths with their valid methods. */
  const routes: readonly (readonly [place: () => string, methods: readonly string[]])[] = [
    [() => '/v1/agents/public/shout', ['PUT', 'PUT', 'PUT', 'GET', 'GET', 'DELETE']],
    [() => '/v1/agents/public/shout/renew', ['POST']],
    [() => `/v1/agents/${segment()}/${segment()}`, ['PUT', 'GET', 'DELETE']],
    [() => `/v1/agents/public/shout/${pick(['card', 'health', segment()])}`, ['GET']],
    [() => '/v1/agents', ['GET']],
    [() => '/v1/watch', ['GET']],
    [() => `/v1/${pick(['%E0%A4%A', '', '//', 'agents/%ff/x'])}`, ['GET', 'PUT']],
    [() => '/search', ['POST']],
    [() => '/explore', ['POST']],
    [() => '/agents', ['GET']],
    [() => '/.well-known/ai-catalog.json', ['GET']],
    [() => nacos, ['POST', 'PUT', 'GET', 'DELETE']],
    [() => `${nacos}/${pick(['list', 'version/list', segment()])}`, ['GET']],
  ]
  const body = (of: string): { readonly text: string; readonly type: string } => {
    if (of.startsWith(nacos)) {
      const card = JSON.stringify(corrupted(cardFor('Shout'))) ?? ''
      const fields = Array.from({ length: Math.floor(random() * 3) }, (): [string, string] => [
        pick(names),
        pick(texts),
      ])
      const form = new URLSearchParams([['agentCard', card], ...fields])
      return { text: form.toString(), type: pick(['application/x-www-form-urlencoded', '', 'text/plain']) }
    }
    const kind = of.endsWith('renew')
      ? 'renew'
      : of === '/search'
        ? 'search'
        : of === '/explore'
          ? 'explore'
          : 'publish'
    const whole = JSON.stringify(corrupted(bodies[random() < 0.9 ? kind : 'anything']?.())) ?? ''
    return { text: random() < 0.05 ? whole.slice(0, -3) : whole, type: 'application/json' }
  }

  for (let round = 0; round < rounds; round++) {
    const [spell, right] = pick(routes)
    const [place, method] = [spell(), pick(random() < 0.9 ? right : anyMethod)]
    const { text, type } = body(place)
    const hasBody = method !== 'GET' && method !== 'HEAD'
    const headers: Record<string, string> = { ...(type !== '' && { 'content-type': type }) }
    if (random() < 0.1) headers['last-event-id'] = pick(['', 'x', '-1', '5', '1e99'])
    const request = new Request(`http://localhost${place}${query()}`, {
      method,
      headers,
      ...(hasBody && { body: text }),
    })
    const response = await registry.fetch(request)
    const said = `${method} ${request.url} ${hasBody ? text.slice(0, 300) : ''}`
    expect(response.status, said).toBeLessThan(500)
    if (response.headers.get('content-type') === 'text/event-stream') await response.body?.cancel()
    else if (method === 'HEAD') expect(await response.text()).toBe('')
    else JSON.parse(await response.text())
  }
  expect(failures).toEqual([])
})
