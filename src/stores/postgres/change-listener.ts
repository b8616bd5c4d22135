/**
 * Change notification between replicas. It listens with LISTEN, and polls the watched tasks for changes that it missed, for example
 * behind a pooler that does not support LISTEN.
 *
 * A payload is a list of words. The first is the sender, or `-` for a function of the database. Then: `t`, a token and a sequence
 * for a task (`t3fa….17`); `r` and the number of an agent with runnable tasks; `l` and the number of an agent with due
 * delivery cursors; `c` and the name of a collection of records.
 *
 * Every login of the database can send notifications, so they are hints: they wake readers, which read the log. Only own commits
 * and query results change the positions kept here.
 */
import { hash, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { toStorable } from '../rows.js'
import type { ChangeFeed, TaskKey } from '../store.js'
import { Watchers } from '../watchers.js'
import type { Names } from './database.js'
import { clientConfig, type Database } from './database.js'
import { channel, Notifier } from './notifier.js'

export interface ChangeListenerOptions {
  /** Interval at which watched tasks are polled while LISTEN works. Default 1 s. */
  readonly pollMs?: number
  /** The same while LISTEN does not work. Default 50 ms. */
  readonly busyPollMs?: number
  /** Pause before LISTEN is tried again after it did not work. Default one minute. */
  readonly listenAgainMs?: number
  /** Called with problems that an operator should know of, once each. */
  readonly onNotice?: (text: string) => void
}

/** If an own notification does not return within this time, LISTEN does not work. */
const echoMs = 3_000
/** Time limit for the connection that listens. */
const connectMs = 5_000
const listenFailure =
  'LISTEN does not work on this connection (is there a pooler?); the store polls for changes of other processes'
/** The shortest interval between polls of agents and collections, which cost several queries. */
const minLookMs = 250

export class ChangeListener implements ChangeFeed {
  /** This process, as the first word of its payloads. */
  readonly sender = `s${randomUUID().slice(0, 13)}`
  readonly #database: Database
  readonly #names: Names
  readonly #watchers = new Watchers()
  readonly #options: ChangeListenerOptions
  readonly #notifier: Notifier
  /** Watched tasks by token, each with the last sequence known to be committed. */
  readonly #watched = new Map<string, { readonly key: TaskKey; count: number; seq: number }>()
  readonly #closing = new AbortController()
  #client: pg.Client | undefined
  #listener: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #isListening = false
  /** Watched agents whose numbers are not known yet. */
  readonly #unknown = new Set<string>()
  #problem: string | undefined
  #isPolling = false
  #lastLook = 0
  #onEcho: () => void = () => undefined

  constructor(database: Database, names: Names, options: ChangeListenerOptions) {
    this.#database = database
    this.#names = names
    this.#options = options
    this.#notifier = new Notifier(database, this.sender)
  }

  watchTask(key: TaskKey, onChange: (seq: number) => void): () => void {
    const token = tokenOf(key)
    const watched = this.#watched.get(token) ?? { key, count: 0, seq: 0 }
    watched.count += 1
    this.#watched.set(token, watched)
    this.#start()
    const unwatch = this.#watchers.watchId(token, onChange)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      unwatch()
      watched.count -= 1
      if (watched.count === 0) this.#watched.delete(token)
    }
  }

  watchRunnable(agent: string, onChange: () => void): () => void {
    this.#learn(agent)
    this.#start()
    return this.#watchers.watchRunnable(agent, onChange)
  }

  watchDeliveries(agent: string, onChange: () => void): () => void {
    this.#learn(agent)
    this.#start()
    return this.#watchers.watchDeliveries(agent, onChange)
  }

  watchCollection(name: string, onChange: () => void): () => void {
    this.#start()
    return this.#watchers.watchCollection(name, onChange)
  }

  /** Notifies watchers of this process at once, and other replicas soon. */
  notifyTask(token: string, seq: number): void {
    this.#wakeToken(token, seq)
    this.#notifier.notifyTask(token, seq)
  }

  notifyRunnable(agent: string, number: number): void {
    this.#watchers.runnable(agent)
    this.#notifier.notify(`r${number}`)
  }

  notifyDeliveries(agent: string, number: number): void {
    this.#watchers.deliveries(agent)
    this.#notifier.notify(`l${number}`)
  }

  wakeDeliveries(agent: string): void {
    this.#watchers.deliveries(agent)
  }

  wakeAll(): void {
    this.#watchers.everything()
  }

  wakeCollection(name: string): void {
    this.#watchers.collection(name)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#timer)
    await this.#notifier.settled()
    await this.#client?.end().catch(() => undefined)
    await this.#listener
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  /** Looks up the number of an agent: payloads contain numbers. */
  #learn(agent: string): void {
    if (this.#names.knownAgent(agent) !== undefined) return
    this.#unknown.add(agent)
    this.#learnAll().catch(() => undefined) // the next poll tries again
  }

  async #learnAll(): Promise<void> {
    for (const agent of [...this.#unknown]) {
      await this.#names.makeAgent(agent)
      this.#unknown.delete(agent)
    }
  }

  /** `seq` is known to be committed. */
  #wakeToken(token: string, seq: number): void {
    const watched = this.#watched.get(token)
    if (!watched || seq <= watched.seq) return
    watched.seq = seq
    this.#watchers.task(token, seq)
  }

  #start(): void {
    if (this.#listener) return
    this.#listener = this.#listen()
    this.#schedule()
  }

  /** Never rejects: without LISTEN the poll finds changes. */
  async #listen(): Promise<void> {
    const { listenAgainMs = 60_000 } = this.#options
    for (let attempt = 0; !this.#isClosed; attempt++) {
      const client = new pg.Client({ ...clientConfig(this.#database.address), connectionTimeoutMillis: connectMs })
      // Before it connects: `close` may be called at any time.
      this.#client = client
      const lost = new Promise<never>((_, reject) => {
        client.on('error', reject)
        client.on('end', () => reject(new Error('The connection has ended')))
      })
      lost.catch(() => undefined)
      let isDeaf = false
      try {
        if (await Promise.race([this.#canListen(client), lost])) {
          attempt = 0
          this.#isListening = true
          this.#report(undefined)
          // Commits before this moment were not received.
          await this.#poll()
          await lost
        }
        isDeaf = true
        this.#report(listenFailure)
      } catch {
        // The connection was lost or could not be opened.
      }
      this.#isListening = false
      await client.end().catch(() => undefined)
      if (this.#isClosed) return
      this.#schedule()
      const pauseMs = isDeaf ? listenAgainMs : Math.min(50 * 2 ** attempt, 2_000)
      await pause(pauseMs, undefined, { ref: false, signal: this.#closing.signal }).catch(() => undefined)
    }
  }

  /** Starts to listen. True if notifications arrive on this connection. */
  async #canListen(client: pg.Client): Promise<boolean> {
    await client.connect()
    client.on('notification', ({ payload = '' }) => this.#receive(payload))
    await client.query(`LISTEN ${channel}`)
    return await this.#receivesEcho(client)
  }

  /** Poolers may accept LISTEN and deliver nothing, so an own notification has to come back. */
  async #receivesEcho(client: pg.Client): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined
    const echo = new Promise<boolean>((resolve) => {
      this.#onEcho = () => resolve(true)
      timer = setTimeout(() => resolve(false), echoMs)
      timer.unref()
    })
    await client.query('SELECT pg_notify($1, $2)', [channel, `${this.sender} e`])
    const isReceived = await echo
    clearTimeout(timer)
    return isReceived
  }

  /** Reports a problem to the operator once, and its end. */
  #report(problem: string | undefined): void {
    if (problem === this.#problem) return
    this.#problem = problem
    this.#options.onNotice?.(problem ?? 'LISTEN works again')
  }

  /** An exception in the listener of a socket would end the process. */
  #receive(payload: string): void {
    try {
      this.#wakeHinted(payload)
    } catch (error) {
      this.#options.onNotice?.(`A notification could not be handled: ${String(error)}`)
    }
  }

  #wakeHinted(payload: string): void {
    const notice = parseNotice(payload)
    if (!notice) return
    if (notice.sender === this.sender) {
      if (notice.isEcho) this.#onEcho()
      return
    }
    for (const [token, seq] of notice.tasks) this.#watchers.task(token, seq)
    // An agent without a known number is not watched here: watching one looks up its number.
    for (const number of notice.runnable) this.#watchers.runnable(this.#names.agentName(number) ?? '')
    for (const number of notice.cursors) this.#watchers.deliveries(this.#names.agentName(number) ?? '')
    for (const name of notice.collections) this.#watchers.collection(name)
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    const { pollMs = 1_000, busyPollMs = 50 } = this.#options
    this.#timer = setTimeout(
      () => {
        this.#poll()
          .catch(() => undefined) // the next poll tries again
          .finally(() => {
            if (!this.#isClosed) this.#schedule()
          })
      },
      this.#isListening ? pollMs : busyPollMs,
    )
    this.#timer.unref()
  }

  /** Polls the watched tasks. Watchers of agents and collections are called in any case. */
  async #poll(): Promise<void> {
    if (this.#isPolling || this.#isClosed) return
    this.#isPolling = true
    try {
      await this.#learnAll()
      const tokens = [...this.#watched.keys()]
      if (tokens.length > 0) {
        const keys = tokens.map((token) => this.#watched.get(token)?.key).filter((key) => key !== undefined)
        const rows = await this.#database.queryOnce<[place: number, seq: number]>(seqsOf, [
          keys.map(({ agent }) => toStorable(agent)),
          keys.map(({ id }) => toStorable(id)),
        ])
        for (const [place, seq] of rows) this.#wakeToken(tokens[place - 1] ?? '', seq)
      }
      const now = performance.now()
      if (now >= this.#lastLook + minLookMs) {
        this.#lastLook = now
        this.#watchers.everything()
      }
    } finally {
      this.#isPolling = false
    }
  }
}

const seqsOf = `SELECT w.place, t.seq FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w (agent, task_id, place)
  JOIN dragoman.agents a ON a.name = w.agent JOIN dragoman.tasks t ON t.agent = a.id AND t.task_id = w.task_id`

/** The token of a task in payloads: short, plain characters, distinct from other words. */
export function tokenOf({ agent, id }: TaskKey): string {
  return `t${hash('sha1', `${toStorable(agent)}\n${toStorable(id)}`).slice(0, 16)}`
}

/**
 * Parser for NOTIFY payloads. Every login of the database can send them, so the parser accepts any text, never
 * throws, and skips words that it does not recognise. All members of a notice are hints: readers check the database.
 */

export interface Notice {
  /** The process that sent it; `-` when a function in the database did. */
  readonly sender: string
  /** Sent by a process that checks whether it receives its own notices. */
  readonly isEcho: boolean
  /** Claimed last sequences, by task token. */
  readonly tasks: ReadonlyMap<string, number>
  /** Numbers of agents that have tasks to run. */
  readonly runnable: ReadonlySet<number>
  /** Numbers of agents that have webhooks to call. */
  readonly cursors: ReadonlySet<number>
  /** Collections of records. */
  readonly collections: ReadonlySet<string>
}

/** Postgres limits a payload to this length in its default build. */
const maxPayloadLength = 8_000

function parseNotice(payload: string): Notice | undefined {
  if (payload.length > maxPayloadLength) return undefined
  const [sender = '', ...words] = payload.split(' ')
  const tasks = new Map<string, number>()
  const runnable = new Set<number>()
  const cursors = new Set<number>()
  const collections = new Set<string>()
  let isEcho = false
  // A payload may repeat a word thousands of times: each target is woken once per notice.
  for (const word of words) {
    if (word === 'e') isEcho = true
    else if (/^t[0-9a-f]{16}\.\d{1,15}$/.test(word)) {
      const [token = '', seq] = word.split('.')
      tasks.set(token, Math.max(tasks.get(token) ?? 0, Number(seq)))
    } else if (/^r\d{1,10}$/.test(word)) runnable.add(Number(word.slice(1)))
    else if (/^l\d{1,10}$/.test(word)) cursors.add(Number(word.slice(1)))
    else if (word.startsWith('c')) {
      const name = decodeName(word.slice(1))
      if (name !== undefined) collections.add(name)
    }
  }
  return { sender, isEcho, tasks, runnable, cursors, collections }
}

function decodeName(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined // an incomplete or invalid escape such as `%` or `%ff`
  }
}
