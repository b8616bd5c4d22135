import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { KeptConversation } from './kept-conversations.js'

/** As browsers have it, as far as it is used. */
class Shelf {
  readonly #items = new Map<string, string>()

  get length(): number {
    return this.#items.size
  }

  key(place: number): string | null {
    return [...this.#items.keys()][place] ?? null
  }

  getItem(key: string): string | null {
    return this.#items.get(key) ?? null
  }

  setItem(key: string, text: string): void {
    this.#items.set(key, text)
  }

  removeItem(key: string): void {
    this.#items.delete(key)
  }
}

beforeEach(() => {
  vi.stubGlobal('localStorage', new Shelf())
})
afterEach(() => {
  vi.unstubAllGlobals()
})

/** Each has the module for itself, and all have the same shelf. */
async function openTab() {
  vi.resetModules()
  return await import('./kept-conversations.js')
}

const conversation = (id: string, begunAt: number, text = 'hello'): KeptConversation => ({
  id,
  ref: 'http://localhost:1',
  begunAt,
  contextId: undefined,
  entries: [{ said: { messageId: id, role: 'ROLE_USER', parts: [{ text }] } }],
})

const idsIn = ({ keptConversations }: Awaited<ReturnType<typeof openTab>>) => keptConversations().map(({ id }) => id)

it('keeps the conversations of all tabs, in the order they were begun in', async () => {
  const [one, other] = [await openTab(), await openTab()]
  one.keepConversation(conversation('second', 2))
  other.keepConversation(conversation('first', 1))
  one.keepConversation(conversation('third', 3))
  expect(idsIn(await openTab())).toEqual(['first', 'second', 'third'])
  one.forgetConversation('second')
  other.keepConversation(conversation('first', 1, 'and more'))
  expect(idsIn(await openTab())).toEqual(['first', 'third'])
})

it('keeps the newest, up to so many and so much', async () => {
  const tab = await openTab()
  for (let place = 0; place < 25; place++) tab.keepConversation(conversation(String(place), place))
  expect(idsIn(tab)).toEqual(Array.from({ length: 20 }, (_, place) => String(place + 5)))
  const long = conversation('long', 30)
  const entries = Array.from({ length: 40 }, (_, place) => ({
    said: { messageId: String(place), role: 'ROLE_USER' as const, parts: [{ text: 'x'.repeat(15_000) }] },
  }))
  tab.keepConversation({ ...long, entries })
  const [kept] = tab.keptConversations().slice(-1)
  expect(kept?.entries.at(-1)).toEqual(entries.at(-1))
  expect(JSON.stringify(kept).length).toBeLessThan(500_500)
})

it('keeps nothing of whoever has left, and overlooks what is none of it', async () => {
  const tab = await openTab()
  localStorage.setItem('dragoman.theme', 'dark')
  localStorage.setItem('dragoman.conversation.odd', '{"id":"another"}')
  localStorage.setItem('dragoman.conversation.broken', '{')
  tab.keepConversation(conversation('mine', 1))
  expect(idsIn(tab)).toEqual(['mine'])
  tab.forgetConversations()
  tab.keepConversation(conversation('mine', 1))
  expect([localStorage.length, localStorage.getItem('dragoman.theme')]).toEqual([1, 'dark'])
})
