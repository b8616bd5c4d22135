/**
 * Notifies other replicas of commits: identifiers only, gathered, in a small transaction of its own.
 *
 * NOTIFY holds a lock of the whole server until its transaction ends, so it must not be part of one that waits for a disk.
 * Every message wakes every listener, so messages are gathered. If a process dies between a commit and its notification, the
 * others find the change by polling (`change-listener.ts`).
 */
import type { Database } from './database.js'

export const channel = 'dragoman'

/** The shortest interval between messages. Commits meanwhile share the next message; after a pause it is sent at once. */
const gapMs = 5
/** Postgres accepts 8,000 bytes. */
const maxMessageLength = 7_900

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

  notify(word: string): void {
    this.#words.add(word)
    this.#begin()
  }

  /** Waits for the rest of the group, so that its first word is not sent alone. */
  #begin(): void {
    this.#work ??= Promise.resolve().then(() => this.#notifyAll())
  }

  /** Resolves when everything has been sent. */
  async settled(): Promise<void> {
    await this.#work
  }

  async #notifyAll(): Promise<void> {
    while (this.#tasks.size > 0 || this.#words.size > 0) {
      const pauseMs = this.#notifiedAt + gapMs - performance.now()
      if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs))
      const messages = this.#takeMessages()
      this.#notifiedAt = performance.now()
      // A hint: after an outage of the database, listeners poll.
      await this.#database.queryOnce(notifyQuery, [messages]).catch(() => undefined)
    }
    this.#work = undefined
  }

  #takeMessages(): readonly string[] {
    const messages: string[] = []
    let message = this.#sender
    for (const word of [...this.#words, ...[...this.#tasks].map(([token, seq]) => `${token}.${seq}`)]) {
      if (message.length + word.length >= maxMessageLength) {
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

/** The transaction writes nothing, so it need not wait for the disk. */
const notifyQuery = `SELECT set_config('synchronous_commit', 'off', true), pg_notify('${channel}', message)
  FROM unnest($1::text[]) AS message`
