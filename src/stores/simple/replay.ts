/** Puts the tasks of saved documents back into memory, at the times at which they were written. */
import type { MemoryStore } from '../memory.js'
import { type Entry, isOver, progressOf, readDocument, type TaskDocument } from './document.js'

export interface ReplayDeps {
  readonly onNotice: (text: string, level?: 'warn' | 'error') => void
  /** Sets the clock of the memory store; undefined is now. */
  readonly at: (ms: number | undefined) => void
  /** Called with each task that has not ended. */
  readonly running: (document: TaskDocument) => void
}

interface Documents {
  list(): Promise<readonly string[]>
  load(name: string): Promise<string | undefined>
}

const loadedAtOnce = 16

export async function replay(documents: Documents, memory: MemoryStore, deps: ReplayDeps): Promise<void> {
  const read = await readAll(documents, deps)
  // Oldest first: memory evicts in the order in which tasks ended.
  read.sort((a, b) => lastOf(a) - lastOf(b))
  try {
    for (const document of read) await replayTask(document, memory, deps)
    deps.at(undefined)
    await replayProgress(read, memory, deps)
  } finally {
    deps.at(undefined)
  }
}

async function readAll(documents: Documents, { onNotice }: ReplayDeps): Promise<TaskDocument[]> {
  const names = await documents.list()
  const read: TaskDocument[] = []
  for (let place = 0; place < names.length; place += loadedAtOnce) {
    const some = names.slice(place, place + loadedAtOnce)
    const texts = await Promise.all(some.map((name) => documents.load(name)))
    for (const [index, text] of texts.entries()) {
      // An empty document was removed.
      if (!text) continue
      try {
        read.push(readDocument(text))
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        onNotice(`The document ${some[index]} cannot be read and is left out: ${reason}`, 'error')
      }
    }
  }
  return read
}

function lastOf({ entries }: TaskDocument): number {
  return entries.at(-1)?.at ?? 0
}

async function replayTask(document: TaskDocument, memory: MemoryStore, deps: ReplayDeps): Promise<void> {
  for (const entry of document.entries) {
    deps.at(entry.at)
    await replayEntry(document, entry, memory)
  }
  const record = await memory.find(document.key)
  if (record && !isOver(record)) deps.running(document)
}

async function replayEntry({ key }: TaskDocument, entry: Entry, memory: MemoryStore): Promise<void> {
  if ('append' in entry) memory.apply(entry.append)
  else if ('putConfig' in entry) await memory.putPushConfig(key, entry.putConfig)
  else await memory.deletePushConfig(key, entry.deleteConfig)
}

/** Webhooks go on behind the last event that they were told. */
async function replayProgress(
  documents: readonly TaskDocument[],
  memory: MemoryStore,
  { at }: ReplayDeps,
): Promise<void> {
  const byTask = new Map(documents.map((document) => [`${document.key.agent}\n${document.key.id}`, document]))
  const agents = [...new Set(documents.map(({ key }) => key.agent))]
  const lease = { owner: 'replay', ttlMs: 1 }
  const { lanes } = await memory.claimLanes({ agents, lease, limit: Number.POSITIVE_INFINITY })
  for (const lane of lanes) {
    const { key, push, fence } = lane
    const document = byTask.get(`${key.agent}\n${key.id}`)
    const progress = document && progressOf(document, push.config.id)
    const { seq, attempts, dead } = progress ?? { seq: lane.seq, attempts: lane.attempts, dead: [] }
    const about = { key, configId: push.config.id, fence, seq, attempts }
    for (const { at: diedMs, ...each } of dead) {
      at(diedMs)
      await memory.settleLane({ ...about, dead: [each], next: { holdMs: 1 } })
    }
    at(undefined)
    await memory.settleLane({ ...about, next: 'release' })
  }
}
