import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { StoredConversation } from './stored-conversations.js'

/** A minimal `localStorage`. */
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

/** Every tab has its own module instance; all share the storage. */
async function openTab() {
  vi.resetModules()
  return await import('./stored-conversations.js')
}

const conversation = (id: string, begunAt: number, text = 'hello'): StoredConversation => ({
  id,
  ref: 'http://localhost:1',
  begunAt,
  contextId: undefined,
  entries: [{ said: { messageId: id, role: 'ROLE_USER', parts: [{ text }] } }],
})

const idsIn = ({ storedConversations }: Awaited<ReturnType<typeof openTab>>) =>
  storedConversations().map(({ id }) => id)

it('stores the conversations of all tabs, oldest first', async () => {
  const [one, other] = [await openTab(), await openTab()]
  one.storeConversation(conversation('second', 2))
  other.storeConversation(conversation('first', 1))
  one.storeConversation(conversation('third', 3))
  expect(idsIn(await openTab())).toEqual(['first', 'second', 'third'])
  one.deleteConversation('second')
  other.storeConversation(conversation('first', 1, 'and more'))
  expect(idsIn(await openTab())).toEqual(['first', 'third'])
})

it('stores the newest up to the limits of number and size', async () => {
  const tab = await openTab()
  for (let place = 0; place < 25; place++) tab.storeConversation(conversation(String(place), place))
  expect(idsIn(tab)).toEqual(Array.from({ length: 20 }, (_, place) => String(place + 5)))
  const long = conversation('long', 30)
  const entries = Array.from({ length: 40 }, (_, place) => ({
    said: { messageId: String(place), role: 'ROLE_USER' as const, parts: [{ text: 'x'.repeat(15_000) }] },
  }))
  tab.storeConversation({ ...long, entries })
  const [kept] = tab.storedConversations().slice(-1)
  expect(kept?.entries.at(-1)).toEqual(entries.at(-1))
  expect(JSON.stringify(kept).length).toBeLessThan(500_500)
})

it('stores nothing after logout, and ignores foreign entries', async () => {
  const tab = await openTab()
  localStorage.setItem('dragoman.theme', 'dark')
  localStorage.setItem('dragoman.conversation.odd', '{"id":"another"}')
  localStorage.setItem('dragoman.conversation.broken', '{')
  tab.storeConversation(conversation('mine', 1))
  expect(idsIn(tab)).toEqual(['mine'])
  tab.deleteConversations()
  tab.storeConversation(conversation('mine', 1))
  expect([localStorage.length, localStorage.getItem('dragoman.theme')]).toEqual([1, 'dark'])
})
