/** Engines for tests, on every store. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SendMessageResponse, StreamItem } from '../model/service.js'
import type { Task } from '../model/task.js'
import { MemoryStore } from '../stores/memory.js'
import { openSqliteStore } from '../stores/sqlite/index.js'
import type { CompleteStore } from '../stores/store.js'
import { type Agent, agent, type Handler } from './agent.js'
import { createEngine, type Engine, type EngineOptions } from './engine.js'

export type StoreKind = 'memory' | 'sqlite' | 'postgres'

const openers = new Map<StoreKind, () => Promise<CompleteStore>>([
  ['memory', () => Promise.resolve(new MemoryStore())],
  ['sqlite', () => openSqliteStore(':memory:')],
])

/** The stores on which test files run their cases. */
export let storeKinds: readonly StoreKind[] = [...openers.keys()]

/** Loads test files so that their cases run on Postgres only. `open` opens an empty store. */
export async function onPostgres(open: () => Promise<CompleteStore>, load: () => Promise<void>): Promise<void> {
  const before = storeKinds
  openers.set('postgres', open)
  storeKinds = ['postgres']
  await load().finally(() => {
    storeKinds = before
  })
}

export async function openTestStore(kind: StoreKind): Promise<CompleteStore> {
  const open = openers.get(kind)
  if (!open) throw new Error(`No ${kind} store for tests`)
  return await open()
}

export interface TestEngine extends Engine {
  readonly store: CompleteStore
  readonly logged: string[]
  [Symbol.asyncDispose](): Promise<void>
}

/** Creates an engine on a new store, or on the given one, which stays open. */
export async function testEngine(
  handler: Handler | Agent,
  kind: StoreKind | CompleteStore,
  options: Partial<EngineOptions> = {},
): Promise<TestEngine> {
  const store = typeof kind === 'string' ? await openTestStore(kind) : kind
  const logged: string[] = []
  const engine = createEngine(typeof handler === 'function' ? agent('Test', handler) : handler, {
    cancelGraceMs: 50,
    log: ({ message, error }) => logged.push(`${message} ${error instanceof Error ? error.message : ''}`),
    ...options,
    store,
  })
  await engine.start()
  return {
    ...engine,
    store,
    logged,
    async [Symbol.asyncDispose]() {
      await engine.drain(0)
      if (typeof kind === 'string') await store.close()
    },
  }
}

/** A store as plain objects, for tests that replace single operations. */
export function bound(store: CompleteStore): CompleteStore {
  const member = (of: object, name: string | symbol): unknown => {
    const value: unknown = Reflect.get(of, name)
    if (name === 'records' || value === undefined) return value
    return typeof value === 'function' ? (value.bind(of) as unknown) : withMembers(value, member)
  }
  return withMembers(store, member)
}

/** A plain object with the members of another one, made when they are read. */
function withMembers<Of>(of: Of, member: (of: object, name: string | symbol) => unknown): Of {
  if (typeof of !== 'object' || of === null) return of
  const names = new Set<string>()
  for (let each: object = of; each !== Object.prototype; each = Object.getPrototypeOf(each) as object)
    for (const name of Object.getOwnPropertyNames(each)) names.add(name)
  names.delete('constructor')
  const made = {}
  for (const name of names)
    Object.defineProperty(made, name, { enumerable: true, configurable: true, get: () => member(of, name) })
  return made as Of // the members of `of`, by the same names
}

/** A database file for engines that meet on it; removed at the end. */
export function sharedFile(): { readonly open: () => Promise<CompleteStore>; [Symbol.dispose](): void } {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-test-'))
  return {
    open: () => openSqliteStore(join(folder, 'tasks.sqlite'), { pollMs: 5 }),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

export function taskIn(answer: SendMessageResponse): Task {
  if ('task' in answer) return answer.task
  throw new Error('The answer is a Message, not a Task')
}

export async function collect(items: AsyncIterable<StreamItem>): Promise<StreamItem[]> {
  const all: StreamItem[] = []
  for await (const item of items) all.push(plain(item))
  return all
}

/** An item without its log entry, which depends on where it was read. */
export function plain({ event, seq }: StreamItem): StreamItem {
  return seq === undefined ? { event } : { event, seq }
}

/** A stream in short: `task:SUBMITTED`, `artifact:text`, `status:COMPLETED`, `message:text`. */
export function outline(items: readonly StreamItem[]): string[] {
  return items.map(({ event }) => {
    if ('task' in event) return `task:${short(event.task.status.state)}`
    if ('statusUpdate' in event) return `status:${short(event.statusUpdate.status.state)}`
    if ('artifactUpdate' in event) return `artifact:${textIn(event.artifactUpdate.artifact.parts)}`
    return `message:${textIn(event.message.parts)}`
  })
}

export function textIn(parts: readonly object[]): string {
  return parts.map((part) => ('text' in part ? String(part.text) : '?')).join('')
}

function short(state: string): string {
  return state.replace('TASK_STATE_', '')
}
