/** Loads the tasks of saved documents into memory, with the times of their changes. */
import type { MemoryTasks } from '../memory-tasks.js'
import { type Entry, hasEnded, progressOf, readDocument, type TaskDocument } from './document.js'

export interface ReplayDeps {
  readonly onNotice: (text: string, level?: 'warn' | 'error') => void
  /** Sets the clock of the memory; undefined is now. */
  readonly at: (ms: number | undefined) => void
  /** Called with each task that has not ended. */
  readonly running: (document: TaskDocument) => void
}

interface Documents {
  list(): Promise<readonly string[]>
  load(name: string): Promise<string | undefined>
}

const loadedAtOnce = 16

export async function replay(documents: Documents, memory: MemoryTasks, deps: ReplayDeps): Promise<void> {
  const read = await readAll(documents, deps)
  // Oldest first: memory evicts in the order in which tasks ended.
  read.sort((a, b) => lastChangeMs(a) - lastChangeMs(b))
  for (const document of read) await replayTask(document, memory, deps)
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

function lastChangeMs({ entries }: TaskDocument): number {
  return entries.at(-1)?.at ?? 0
}

async function replayTask(document: TaskDocument, memory: MemoryTasks, deps: ReplayDeps): Promise<void> {
  for (const entry of document.entries) {
    deps.at(entry.at)
    await replayEntry(document, entry, memory)
  }
  deps.at(undefined)
  memory.restoreProgress(document.key, (configId) => progressOf(document, configId))
  const record = await memory.find(document.key)
  if (record && !hasEnded(record)) deps.running(document)
}

async function replayEntry({ key }: TaskDocument, entry: Entry, memory: MemoryTasks): Promise<void> {
  if ('append' in entry) memory.apply(entry.append)
  else if ('putConfig' in entry) await memory.putPushConfig(key, entry.putConfig)
  else await memory.deletePushConfig(key, entry.deleteConfig)
}
