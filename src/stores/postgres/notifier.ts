/**
 * Tells other replicas what this one has committed: identifiers only, gathered, as one small transaction of its own.
 *
 * NOTIFY takes a lock of the whole server until its transaction has ended, so it must not be part of one that writes and
 * waits for a disk; and every message wakes every listener, so there are few. A process that dies between a commit and
 * its telling has told nobody: the others find what they watch when they ask next (`changes.ts`).
 */
import type { Database } from './database.js'

export const channel = 'dragoman'

/** Between one telling and the next: what is committed meanwhile goes together. The first one after a pause goes at once. */
const gapMs = 5
/** Postgres takes 8,000 bytes. */
const longestMessage = 7_900

export class Notifier {
  readonly #database: Database
  readonly #sender: string
  /** The last sequence of each task, by token. */
  #tasks = new Map<string, number>()
  #words = new Set<string>()
  #work: Promise<void> | undefined
  #notifiedAt = Number.NEGATIVE_INFINITY

  constructor(database: Database, sender: string) {
    this.#database = database
    this.#sender = sender
  }

  notifyTask(token: string, seq: number): void {
    this.#tasks.set(token, seq)
    this.#begin()
  }

  tell(word: string): void {
    this.#words.add(word)
    this.#begin()
  }

  /** When all of a group has been said: its first word must not go alone. */
  #begin(): void {
    this.#work ??= Promise.resolve().then(() => this.#notifyAll())
  }

  /** Resolves when everything has been told. */
  async settled(): Promise<void> {
    await this.#work
  }

  async #notifyAll(): Promise<void> {
    while (this.#tasks.size > 0 || this.#words.size > 0) {
      const pauseMs = this.#notifiedAt + gapMs - performance.now()
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
      const messages = this.#takeMessages()
      this.#notifiedAt = performance.now()
      // It is a hint: when the database is away, listeners ask for themselves as soon as it is back.
      await this.#database.queryOnce(notifyQuery, [messages]).catch(() => undefined)
    }
    this.#work = undefined
  }

  #takeMessages(): readonly string[] {
    const messages: string[] = []
    let message = this.#sender
    for (const word of [...this.#words, ...[...this.#tasks].map(([token, seq]) => `${token}.${seq}`)]) {
      if (message.length + word.length >= longestMessage) {
        messages.push(message)
        message = this.#sender
      }
      message += ` ${word}`
    }
    this.#tasks = new Map()
    this.#words = new Set()
    return [...messages, message]
  }
}

/** Nothing is written, so nobody waits for the disk. */
const notifyQuery = `SELECT set_config('synchronous_commit', 'off', true), pg_notify('${channel}', message)
  FROM unnest($1::text[]) AS message`
