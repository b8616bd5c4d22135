import { describe, expect, it } from 'vitest'
import { ann, at, cardFor, testRegistry } from './registry.fixture.js'

const skill = { id: 's', name: 'S', description: 'S', tags: ['t'] }

describe('rejected cards', () => {
  it.each<[string, unknown]>([
    ['no object', 'card'],
    ['a list', []],
    ['nothing', null],
    ['no name', { ...cardFor('x'), name: undefined }],
    ['a name that is no text', { ...cardFor('x'), name: 7 }],
    ['no interface', cardFor('x', { supportedInterfaces: [] })],
    ['an interface that is a script', cardFor('x', at('javascript:alert(1)'))],
    ['an interface in a file', cardFor('x', at('file:///etc/passwd'))],
    ['a password in an address', cardFor('x', at('http://user:secret@127.0.0.1:9/'))],
    ['an icon that is a script', cardFor('x', { iconUrl: 'javascript:alert(1)' })],
    ['documentation in a data URL', cardFor('x', { documentationUrl: 'data:text/html,x' })],
    ['a version that cannot be shown', cardFor('x', { version: '1\u0000' })],
    ['a version of many characters', cardFor('x', { version: 'v'.repeat(200) })],
    ['too many skills', cardFor('x', { skills: Array.from({ length: 300 }, () => skill) })],
    [
      'too many interfaces',
      cardFor('x', {
        supportedInterfaces: Array.from(
          { length: 30 },
          () => at('http://127.0.0.1:9/').supportedInterfaces[0] as never,
        ),
      }),
    ],
  ])('%s', async (_, card) => {
    await using registry = await testRegistry()
    await expect(registry.publish({ namespace: 'public', name: 'x', card }, ann)).rejects.toMatchObject({
      code: 'INVALID',
    })
    expect((await registry.list({ limit: 10, includeUnhealthy: true })).total).toBe(0)
  })

  it('are checked for size before anything else', async () => {
    await using registry = await testRegistry()
    const card = cardFor('x', { description: 'x'.repeat(300 * 1024) })
    await expect(registry.publish({ namespace: 'public', name: 'x', card }, ann)).rejects.toMatchObject({
      code: 'TOO_LARGE',
    })
  })

  it.each([
    'http://127.0.0.1:9/',
    'http://localhost/',
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://[::1]/',
    'http://2130706433/',
    'http://[::ffff:192.168.0.1]/',
  ])('have URLs in private networks, unless the operator allows them: %s', async (url) => {
    await using closed = await testRegistry({ allowPrivate: false })
    const card = cardFor('x', at(url))
    await expect(closed.publish({ namespace: 'public', name: 'x', card }, ann)).rejects.toMatchObject({
      code: 'INVALID',
      problems: [{ path: 'card.supportedInterfaces[0].url' }],
    })
  })

  it('have gRPC authorities in private networks', async () => {
    await using closed = await testRegistry({ allowPrivate: false })
    const card = cardFor('x', {
      supportedInterfaces: [{ url: '10.0.0.1:443', protocolBinding: 'GRPC', protocolVersion: '1.0' }],
    })
    await expect(closed.publish({ namespace: 'public', name: 'x', card }, ann)).rejects.toMatchObject({
      code: 'INVALID',
    })
  })

  it.each(['', ' ', 'a\nb', 'a\u202eb', '\ud800', 'x'.repeat(129)])('have an unusable name: %j', async (name) => {
    await using registry = await testRegistry()
    await expect(registry.publish({ namespace: 'public', name, card: cardFor('x') }, ann)).rejects.toMatchObject({
      code: 'INVALID',
    })
  })

  it('have too many tags', async () => {
    await using registry = await testRegistry()
    const tags = Array.from({ length: 51 }, (_, n) => `t${n}`)
    await expect(registry.publish({ namespace: 'public', name: 'x', card: cardFor('x'), tags }, ann)).rejects.toThrow(
      'tags',
    )
  })

  it('are unsigned if signatures are required', async () => {
    await using registry = await testRegistry({ signatures: 'require' })
    await expect(registry.publish({ namespace: 'public', name: 'x', card: cardFor('x') }, ann)).rejects.toThrow(
      'signed',
    )
  })
})

describe('cards whose requirements combine many OAuth flows', () => {
  const flows = { clientCredentials: { tokenUrl: 'https://id.example/token', scopes: {} }, password: { scopes: {} } }
  const cardWith = (count: number) => {
    const names = Array.from({ length: count }, (_, place) => `s${place}`)
    const scheme = { oauth2SecurityScheme: { flows } }
    return cardFor('x', {
      securitySchemes: Object.fromEntries(names.map((name) => [name, scheme])),
      securityRequirements: [{ schemes: Object.fromEntries(names.map((name) => [name, {}])) }],
    })
  }

  it.each([
    [5, 32],
    [6, 1],
    [30, 1],
    [1000, 1],
  ])('of %i schemes are stored with %i requirements', async (count, requirements) => {
    await using registry = await testRegistry({ cards: 'readable' })
    const key = { namespace: 'public', name: 'x' }
    await registry.publish({ ...key, card: cardWith(count) }, ann)
    const [instance] = registry.find(key).instances
    const stored = instance && (await registry.read(instance.key))
    const card = JSON.parse(stored?.card ?? '') as ReturnType<typeof cardWith>
    expect(card.securityRequirements).toHaveLength(requirements)
    expect(card.securityRequirements?.[0]).toEqual(cardWith(count).securityRequirements?.[0])
  })
})

describe('names', () => {
  it.each(['a/b', 'a%2Fb', '天气', '..', '__proto__', 'constructor', 'a b', '🚀'])('may be %s', async (name) => {
    await using registry = await testRegistry()
    await registry.publish({ namespace: name, name, card: cardFor(name) }, ann)
    expect(registry.find({ namespace: name, name }).agent.key).toEqual({ namespace: name, name })
    expect((await registry.list({ limit: 10 })).total).toBe(1)
  })
})
