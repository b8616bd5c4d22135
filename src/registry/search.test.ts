import SearchableMap from 'minisearch/SearchableMap'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ann, cardFor, testRegistry } from './registry.fixture.js'
import { isPrefix, mistakesIn, SearchIndex, termOf, tokenize } from './search-index.js'
import { sortInSlices, WorkQueue } from './work-queue.js'

describe('tokenize', () => {
  const wordsOf = (text: string) => tokenize(text, 100)

  it.each([
    ['Flight-booking Agent v2', ['flight', 'booking', 'agent', 'v2']],
    ['ＡＩ 3', ['ai', '3']],
    ['税', ['税']],
    ['', []],
    ['Über naïve café', ['über', 'naïve', 'café']],
  ])('splits %j', (text, words) => expect(wordsOf(text)).toEqual(words))

  it('returns every pair of adjacent characters, independent of the dictionary', () => {
    expect(wordsOf('天气预报')).toEqual(expect.arrayContaining(['天气', '预报']))
    expect(wordsOf('ＡＩ助手')).toEqual(expect.arrayContaining(['ai', '助手']))
    expect(wordsOf('互联网')).toEqual(expect.arrayContaining(['互联', '联网']))
    expect(wordsOf('互联网')).not.toContain('网')
    expect(wordsOf('查询weather天气')).toEqual(expect.arrayContaining(['查询', 'weather', '天气']))
  })

  it('truncates long words, and stops at the maximum number of words', () => {
    expect(tokenize('x'.repeat(1000), 100)).toEqual(['x'.repeat(64)])
    expect(tokenize('one two three', 2)).toEqual(['one', 'two'])
    expect(tokenize('中'.repeat(1000), 50)).toHaveLength(50)
  })

  it('keeps adjacent characters together when it splits a long run', () => {
    const run = Array.from({ length: 600 }, (_, place) => String.fromCodePoint(0x4e00 + place)).join('')
    const words = new Set(tokenize(run, 10_000))
    for (let place = 0; place + 1 < run.length; place++) expect(words).toContain(run.slice(place, place + 2))
  })
})

describe('index terms', () => {
  it('use a small alphabet, and are distinct for distinct words', () => {
    const following = new Map<string, Set<string>>()
    const terms = new Set<string>()
    for (let code = 0x4e00; code < 0x9fff; code++) {
      const term = termOf(String.fromCharCode(code))
      terms.add(term)
      for (let place = 0; place < term.length; place++) {
        const before = term.slice(0, place)
        following.set(before, (following.get(before) ?? new Set()).add(term.charAt(place)))
      }
    }
    expect(terms.size).toBe(0x9fff - 0x4e00)
    expect(Math.max(...[...following.values()].map(({ size }) => size))).toBeLessThanOrEqual(64)
  })

  it('equal the words of alphabetic scripts', () => {
    expect(termOf('wetter über погода')).toBe('wetter über погода')
    expect([isPrefix('w'), isPrefix('we'), isPrefix(termOf('天')), isPrefix(termOf('天气'))]).toEqual([
      false,
      true,
      false,
      true,
    ])
    expect(['abc', 'abcd', 'abcdefgh', 'x'.repeat(64), termOf('天气预报')].map(mistakesIn)).toEqual([0, 1, 2, 2, 0])
  })
})

describe('searching', () => {
  async function filled() {
    const registry = await testRegistry()
    const publish = (name: string, description: string, skill: string, tags: readonly string[] = []) =>
      registry.publish(
        {
          namespace: 'public',
          name,
          tags,
          card: cardFor(name, {
            description,
            skills: [{ id: `${name}-skill`, name: skill, description: skill, tags: ['demo'], examples: ['例如'] }],
          }),
        },
        ann,
      )
    await publish('weather', 'Forecasts the weather anywhere', 'Forecast', ['climate'])
    await publish('tianqi', '提供全国城市的天气预报和空气质量查询', '天气查询', ['气象'])
    await publish('flights', 'Books flights and hotels', 'Booking')
    await publish('fapiao', '自动识别增值税发票并生成报销单', '发票识别')
    const names = async (query: object) =>
      (await registry.list({ limit: 10, ...query })).found.map(({ agent }) => agent.key.name)
    return { registry, names }
  }

  it('finds English words, also when they are misspelled or unfinished', async () => {
    const { registry, names } = await filled()
    await using _ = registry
    expect((await names({ text: 'weather forecast' }))[0]).toBe('weather')
    expect((await names({ text: 'book a flight' }))[0]).toBe('flights')
    expect(await names({ text: 'foreca' })).toEqual(['weather'])
    expect(await names({ text: 'wether' })).toEqual(['weather'])
    expect(await names({ text: 'quantum' })).toEqual([])
  })

  it('finds Chinese words of two characters at any position', async () => {
    const { registry, names } = await filled()
    await using _ = registry
    expect((await names({ text: '天气' }))[0]).toBe('tianqi')
    expect((await names({ text: '预报' }))[0]).toBe('tianqi')
    expect((await names({ text: '发票' }))[0]).toBe('fapiao')
    expect((await names({ text: '我想报销一张发票' }))[0]).toBe('fapiao')
    expect(await names({ text: '气象' })).toContain('tianqi')
  })

  it('finds skills and tags, ignoring case', async () => {
    const { registry, names } = await filled()
    await using _ = registry
    expect(await names({ skill: '天气查询' })).toEqual(['tianqi'])
    expect(await names({ skill: 'FORECAST' })).toEqual(['weather'])
    expect(await names({ skill: 'flights-skill' })).toEqual(['flights'])
    expect(await names({ tag: 'Climate' })).toEqual(['weather'])
    expect(await names({ tag: 'demo' })).toHaveLength(4)
    expect(await names({ tag: 'demo', text: 'hotels' })).toEqual(['flights'])
    expect(await names({ tag: 'none' })).toEqual([])
  })

  it('removes the words of deleted and changed agents', async () => {
    const { registry, names } = await filled()
    await using _ = registry
    await registry.publish({ namespace: 'public', name: 'flights', card: cardFor('flights') }, ann)
    expect(await names({ text: 'hotels' })).toEqual([])
    await registry.withdraw({ namespace: 'public', name: 'weather' }, ann)
    expect(await names({ text: 'weather' })).toEqual([])
  })

  it('lists pages without gaps, by name and by relevance', async () => {
    await using registry = await testRegistry()
    for (let n = 0; n < 25; n++)
      await registry.publish({ namespace: n % 2 ? 'odd' : 'even', name: `a${n}`, card: cardFor(`agent ${n}`) }, ann)
    for (const query of [{}, { text: 'agent' }, { namespace: 'odd' }]) {
      const seen: string[] = []
      let cursor: string | undefined
      let total = 0
      do {
        const page = await registry.list({ ...query, limit: 4, ...(cursor !== undefined && { cursor }) })
        seen.push(...page.found.map(({ agent }) => agent.key.name))
        cursor = page.cursor
        total = page.total
      } while (cursor !== undefined)
      expect(new Set(seen).size).toBe(seen.length)
      expect(seen.length).toBe(total)
      expect(total).toBe('namespace' in query ? 12 : 25)
    }
    await expect(registry.list({ limit: 4, cursor: 'bm9uc2Vuc2U' })).rejects.toThrow('cursor')
  })
})

describe('cards with too much text', () => {
  afterEach(() => vi.restoreAllMocks())

  it('are found by their first words; the rest is not tokenized', async () => {
    const segment = vi.spyOn(Intl.Segmenter.prototype, 'segment')
    await using registry = await testRegistry()
    const endless = '中'.repeat(5000)
    const skills = Array.from({ length: 5 }, (_, n) => ({
      ...{ id: `s${n}`, name: endless, description: endless, tags: [endless] },
    }))
    const card = cardFor('x', { description: `天气${endless}`, skills })
    await registry.publish({ namespace: 'public', name: 'x', card, tags: ['loud'] }, ann)
    const lengths = segment.mock.calls.map(([text]) => text.length)
    expect(Math.max(...lengths)).toBeLessThanOrEqual(128)
    expect(lengths.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(1000)
    for (const text of ['天气', 'loud', 's4'])
      expect((await registry.list({ limit: 10, text })).found, text).toMatchObject([{ agent: { key: { name: 'x' } } }])
  })

  it('leave room in the index for the names of other agents', async () => {
    const index = new SearchIndex(100)
    const words = (n: number) => Array.from({ length: 50 }, (_, m) => `${String(n).repeat(6)}x${m}`).join(' ')
    for (let n = 0; n < 10; n++) index.set(`id${n}`, `agent${n}`, cardFor(`a${n}`, { description: words(n) }), [])
    const found = async (text: string) =>
      (await index.search(text, () => true, new WorkQueue().share())).map(({ id }) => id)
    expect(await found('000000x1')).toEqual(['id0'])
    expect(await found('999999x1')).toEqual([])
    expect(await found('agent9')).toEqual(['id9'])
  })

  it('free their share of the index when they are removed', async () => {
    const index = new SearchIndex(3)
    const found = async (text: string) =>
      (await index.search(text, () => true, new WorkQueue().share())).map(({ id }) => id)
    index.set('first', 'first', cardFor('first', { description: 'one two three four' }), [])
    index.set('second', 'second', cardFor('second', { description: 'five' }), [])
    expect(await found('five')).toEqual([])
    index.remove('first')
    index.remove('second')
    index.set('second', 'second', cardFor('second', { description: 'five' }), [])
    expect(await found('five')).toEqual(['second'])
    expect(await found('first')).toEqual([])
  })

  it('are matched against the first words of a query only', async () => {
    const segment = vi.spyOn(Intl.Segmenter.prototype, 'segment')
    await using registry = await testRegistry()
    await registry.publish({ namespace: 'public', name: 'x', card: cardFor('x') }, ann)
    await registry.list({ limit: 10, text: '中'.repeat(100_000) })
    expect(segment.mock.calls.map(([text]) => text.length)).toEqual([128])
  })
})

describe('work on many agents', () => {
  afterEach(() => vi.restoreAllMocks())

  it('alternates between callers, and finishes the reads of one caller in order', async () => {
    const queue = new WorkQueue()
    const finished: string[] = []
    const read = async (who: string, name: string) => {
      const share = queue.share(who)
      await share.start()
      for (let slice = 0; slice < 5; slice++) await share.pause()
      finished.push(name)
    }
    await Promise.all([
      ...['a1', 'a2', 'a3', 'a4'].map((name) => read('ann', name)),
      ...['b1'].map((name) => read('bob', name)),
    ])
    expect(finished.filter((name) => name !== 'b1')).toEqual(['a1', 'a2', 'a3', 'a4'])
    expect(finished.indexOf('b1')).toBeLessThanOrEqual(1)
  })

  it('sorts like Array.sort, and is stable', async () => {
    const items = Array.from({ length: 2345 }, (_, place) => ({ key: (place * 7919) % 101, place }))
    const compare = (a: { key: number }, b: { key: number }) => a.key - b.key
    expect(await sortInSlices(items, compare, new WorkQueue().share())).toEqual(items.toSorted(compare))
  })

  it('pauses before each search for similar words, and charges a token for it', async () => {
    const steps: string[] = []
    const fuzzyGet = SearchableMap.prototype.fuzzyGet
    vi.spyOn(SearchableMap.prototype, 'fuzzyGet').mockImplementation(function (this: SearchableMap, term, mistakes) {
      steps.push('similar words')
      return fuzzyGet.call(this, term, mistakes)
    })
    const index = new SearchIndex()
    index.set('id', 'translator', cardFor('translator'), [])
    const rateCharge = { charge: () => steps.push('token'), assertWithinRate: () => undefined }
    const share = new WorkQueue().share('ann', rateCharge)
    const found = await index.search('trenslator interpeter dictionery', () => true, share)
    expect(found).toMatchObject([{ id: 'id' }])
    expect(steps).toEqual(Array(3).fill(['token', 'similar words']).flat())
  })

  it('continues when agents are added and removed between two slices', async () => {
    const index = new SearchIndex()
    for (let n = 0; n < 5000; n++) index.set(`id${n}`, `agent ${n}`, cardFor(`agent ${n}`), [])
    const share = new WorkQueue().share()
    let pauses = 0
    const found = await index.search('agent', () => true, {
      ...share,
      async pause() {
        pauses += 1
        index.remove(`id${4000 + pauses}`)
        index.set(`new${pauses}`, 'other', cardFor('other'), [])
        await share.pause()
      },
    })
    expect(pauses).toBeGreaterThan(1)
    expect(found.length).toBeGreaterThan(4900)
  })
})
