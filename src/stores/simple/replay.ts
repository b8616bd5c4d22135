/** Loads the tasks of saved documents into memory, with the times of their changes. */
import type { MemoryTasks } from '../memory-tasks.js'
import { type Entry, hasEnded, nameOf, progressOf, readDocument, type TaskDocument } from './document.js'

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
  for (const document of read) {
    try {
      await replayTask(document, memory, deps)
    } catch (error) {
      deps.onNotice(`The document ${nameOf(document.key)} is restored in part: ${reasonOf(error)}`, 'error')
    }
  }
  deps.at(undefined)
}

async function readAll(documents: Documents, { onNotice }: ReplayDeps): Promise<TaskDocument[]> {
  const names = await documents.list()
  const read: TaskDocument[] = []
  for (let place = 0; place < names.length; place += loadedAtOnce) {
    const some = names.slice(place, place + loadedAtOnce)
    const loaded = await Promise.allSettled(some.map(async (name) => readNamed(name, await documents.load(name))))
    for (const [index, result] of loaded.entries()) {
      if (result.status === 'fulfilled') read.push(...result.value)
      else onNotice(`The document ${some[index]} cannot be read and is left out: ${reasonOf(result.reason)}`, 'error')
    }
  }
  return read
}

/** Nothing for an empty document: it was removed. */
function readNamed(name: string, text: string | undefined): readonly TaskDocument[] {
  if (!text) return []
  const document = readDocument(text)
  if (nameOf(document.key) !== name) throw new Error('it has the name of another task')
  return [document]
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
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
  else if ('putConfig' in entry) await memory.deliveries.putConfig(key, entry.putConfig)
  else await memory.deliveries.deleteConfig(key, entry.deleteConfig)
}
