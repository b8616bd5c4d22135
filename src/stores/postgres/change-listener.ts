/**
 * Who is to be woken by what other replicas commit. Their commits are heard by LISTEN; what was missed while
 * nobody listened, or behind a pooler that forbids it, is found by asking for the watched tasks again.
 *
 * Messages hold words: `t`, a token and a sequence for each task (`t3fa….17`), `r` and a number for an agent with work
 * that nobody holds, `l` for one with webhooks to be told, `c` and a name for a collection of records. The first word
 * names the sender, which knows already; `-` when the database itself says so.
 *
 * Every login of the database can send such messages, so they are hints. A hint wakes readers, which read the log from
 * their own position; only this process's commits and the database's answers change the position kept here.
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
  /** How often watched tasks are asked for although somebody listens. Default 1 s. */
  readonly pollMs?: number
  /** How often when nobody can listen. Default 50 ms. */
  readonly busyPollMs?: number
  /** How long until LISTEN is tried again where it did not work. Default one minute. */
  readonly listenAgainMs?: number
  /** Something an operator should know, once. */
  readonly onNotice?: (text: string) => void
}

/** How long an echo of our own may take before LISTEN counts as forbidden. */
const echoMs = 3_000
/** How long a connection to listen on may take to come about. */
const connectMs = 5_000
const deaf =
  'LISTEN is not possible on this connection (a pooler?): until it is, changes of other processes are found by polling'
/** Looking for work costs several queries each time. */
const leastLookMs = 250

export class ChangeListener implements ChangeFeed {
  /** This process, as the first word of what it tells. */
  readonly sender = `s${randomUUID().slice(0, 13)}`
  readonly #database: Database
  readonly #names: Names
  readonly #watchers = new Watchers()
  readonly #options: ChangeListenerOptions
  readonly #notifier: Notifier
  /** Watched tasks by token, each with the last sequence that is known to be committed. */
  readonly #watched = new Map<string, { readonly key: TaskKey; count: number; seq: number }>()
  readonly #closing = new AbortController()
  #client: pg.Client | undefined
  #listener: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #isListening = false
  /** Agents that are watched and whose numbers are not known yet. */
  readonly #unknown = new Set<string>()
  #complaint: string | undefined
  #isAsking = false
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

  /** Committed here: to be known here at once, and elsewhere soon. */
  notifyTask(token: string, seq: number): void {
    this.#wakeToken(token, seq)
    this.#notifier.notifyTask(token, seq)
  }

  notifyRunnable(agent: string, number: number): void {
    this.#watchers.runnable(agent)
    this.#notifier.tell(`r${number}`)
  }

  notifyDeliveries(agent: string, number: number): void {
    this.#watchers.deliveries(agent)
    this.#notifier.tell(`l${number}`)
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

  /** Words of other replicas name agents by their numbers. */
  #learn(agent: string): void {
    if (this.#names.knownAgent(agent) !== undefined) return
    this.#unknown.add(agent)
    this.#learnAll().catch(() => undefined) // learnt when we ask next
  }

  async #learnAll(): Promise<void> {
    for (const agent of [...this.#unknown]) {
      await this.#names.makeAgent(agent)
      this.#unknown.delete(agent)
    }
  }

  /** `seq` is committed: this process did it, or the database says so. */
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

  /** Never rejects: whoever cannot listen asks. */
  async #listen(): Promise<void> {
    const { listenAgainMs = 60_000 } = this.#options
    for (let attempt = 0; !this.#isClosed; attempt++) {
      const client = new pg.Client({ ...clientConfig(this.#database.address), connectionTimeoutMillis: connectMs })
      // Before it connects: `close` may come at any time.
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
          this.#say(undefined)
          // What was committed before this moment was told to nobody here.
          await this.#ask()
          await lost
        }
        isDeaf = true
        this.#say(deaf)
      } catch {
        // Lost, or never there.
      }
      this.#isListening = false
      await client.end().catch(() => undefined)
      if (this.#isClosed) return
      this.#schedule()
      const pauseMs = isDeaf ? listenAgainMs : Math.min(50 * 2 ** attempt, 2_000)
      await pause(pauseMs, undefined, { ref: false, signal: this.#closing.signal }).catch(() => undefined)
    }
  }

  /** Whether notifications arrive on this connection. */
  async #canListen(client: pg.Client): Promise<boolean> {
    await client.connect()
    client.on('notification', ({ payload = '' }) => this.#receive(payload))
    await client.query(`LISTEN ${channel}`)
    return await this.#receivesEcho(client)
  }

  /** Poolers may take LISTEN and let nothing through: a word of our own has to come back. */
  async #receivesEcho(client: pg.Client): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined
    const echo = new Promise<boolean>((resolve) => {
      this.#onEcho = () => resolve(true)
      timer = setTimeout(() => resolve(false), echoMs)
      timer.unref()
    })
    await client.query('SELECT pg_notify($1, $2)', [channel, `${this.sender} e`])
    const isHeard = await echo
    clearTimeout(timer)
    return isHeard
  }

  /** Tells the operator what is wrong, once, and when it is no more. */
  #say(complaint: string | undefined): void {
    if (complaint === this.#complaint) return
    this.#complaint = complaint
    this.#options.onNotice?.(complaint ?? 'LISTEN works again')
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
        this.#ask()
          .catch(() => undefined) // asked again soon
          .finally(() => {
            if (!this.#isClosed) this.#schedule()
          })
      },
      this.#isListening ? pollMs : busyPollMs,
    )
    this.#timer.unref()
  }

  /** Asks for the tasks that are watched; of agents and collections nobody knows, so they look for themselves. */
  async #ask(): Promise<void> {
    if (this.#isAsking || this.#isClosed) return
    this.#isAsking = true
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
      if (now >= this.#lastLook + leastLookMs) {
        this.#lastLook = now
        this.#watchers.everything()
      }
    } finally {
      this.#isAsking = false
    }
  }
}

const seqsOf = `SELECT w.place, t.seq FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w (agent, task_id, place)
  JOIN dragoman.agents a ON a.name = w.agent JOIN dragoman.tasks t ON t.agent = a.id AND t.task_id = w.task_id`

/** Names a task in a message: short, of plain characters, and never the beginning of another kind of word. */
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

export function parseNotice(payload: string): Notice | undefined {
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
