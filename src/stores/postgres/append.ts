/**
 * Group append: steps that arrive while the database works are sent together, in one call of `dragoman.append`.
 *
 * A connection may break after the commit and before the answer. Such a step is sent again, and the lock of its row makes the second
 * attempt wait for the first. If it is refused then, and its events are in the log word for word, it was committed.
 */

import { batchBody, configBody, stateNumber, toStorable, visibilityNumber } from '../rows.js'
import { type Append, type AppendOutcome, type LeaseClaim, serializeIdentity } from '../store.js'
import { kindOf, type SnapshotRow, snapshotRow } from '../views.js'
import { CommitWatchers } from '../watchers.js'
import { type ChangeListener, tokenOf } from './change-listener.js'
import type { Names } from './database.js'
import { type Database, isPassing } from './database.js'

interface Queued {
  readonly step: Append
  readonly agent: number
  readonly scope: number | undefined
  readonly body: string
  readonly snapshot: SnapshotRow | undefined
  /** The token of the task; see `tokenOf`. */
  readonly token: string
  resolve(outcome: AppendOutcome): void
  reject(error: unknown): void
}

const maxGroupSize = 500
/** More than one, so that the next group is sent while the database writes the last one. */
const maxGroups = 2

export class Appender {
  readonly #database: Database
  readonly #names: Names
  readonly #changes: ChangeListener
  readonly watchers = new CommitWatchers()
  #queue: Queued[] = []
  #isScheduled = false
  #underWay = 0
  #isDiskFull = false

  constructor(database: Database, names: Names, changes: ChangeListener) {
    this.#database = database
    this.#names = names
    this.#changes = changes
  }

  /** True if the last group failed because the disk of the database was full. */
  get isDiskFull(): boolean {
    return this.#isDiskFull
  }

  async append(step: Append): Promise<AppendOutcome> {
    const { key, create } = step
    if (create && step.expect !== 0) return { result: 'conflict' }
    const agent = this.#names.knownAgent(key.agent) ?? (await this.#names.makeAgent(key.agent))
    const scope = create && { agent: key.agent, tenant: create.tenant, owner: create.owner }
    const number = scope && (this.#names.knownScope(scope) ?? (await this.#names.makeScope(scope)))
    return await new Promise((resolve, reject) => {
      const body = step.events.length > 0 ? batchBody(step.events) : ''
      const snapshot = step.snapshot && snapshotRow(step.snapshot)
      this.#queue.push({ step, agent, scope: number, body, snapshot, token: tokenOf(key), resolve, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#isScheduled || this.#underWay >= maxGroups || this.#queue.length === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const { group, rest } = takeGroup(this.#queue)
      this.#queue = rest
      this.#underWay += 1
      void this.#write(group).finally(() => {
        this.#underWay -= 1
        this.#schedule()
      })
      this.#schedule()
    })
  }

  /** Never rejects: it settles the promise of every step. */
  async #write(group: readonly Queued[]): Promise<void> {
    const begunMs = this.watchers.begin()
    try {
      const settled = await this.#database.patiently((attempt) => this.#attempt(group, attempt > 0))
      for (const each of group) each.resolve(settled.get(each) ?? { result: 'conflict' })
      this.watchers.committed(group.length, begunMs)
      this.#isDiskFull = false
    } catch (error) {
      this.#isDiskFull = error instanceof Error && 'code' in error && error.code === '53100'
      // One failing step must not fail the others of its group, unless the database is unreachable.
      if (group.length === 1 || isPassing(error)) for (const each of group) each.reject(error)
      else for (const each of group) await this.#write([each])
    }
  }

  async #attempt(group: readonly Queued[], isAgain: boolean): Promise<ReadonlyMap<Queued, AppendOutcome>> {
    const outcomes = new Map<Queued, AppendOutcome>()
    const rows = await this.#database.queryOnce<
      [place: number, result: AppendOutcome['result'], fencingToken: number, hasCursors: boolean, isFree: boolean]
    >(
      appendCall,
      columns.map(({ encode }) => encode(group)),
    )
    for (const [place, result, fencingToken, hasCursors, isFree] of rows) {
      const queued = group[place - 1] as Queued // places are of those that were sent
      outcomes.set(queued, result === 'ok' ? { result, fencingToken } : { result })
      if (result === 'ok') this.#notify(queued, hasCursors, isFree)
    }
    if (isAgain) await this.#findDone(outcomes)
    return outcomes
  }

  #notify({ step: { key, expect, events }, token, agent }: Queued, hasCursors: boolean, isFree: boolean): void {
    if (events.length > 0) this.#changes.notifyTask(token, expect + events.length)
    if (isFree) this.#changes.notifyRunnable(key.agent, agent)
    if (hasCursors) this.#changes.notifyDeliveries(key.agent, agent)
  }

  /** Accepts steps that were refused because an earlier attempt, whose answer was lost, had committed them. It notifies again. */
  async #findDone(outcomes: Map<Queued, AppendOutcome>): Promise<void> {
    const isRefused = ([{ step }, { result }]: readonly [Queued, AppendOutcome]) =>
      result !== 'ok' && step.events.length > 0
    const candidates = [...outcomes].filter(isRefused).map(([queued]) => queued)
    if (candidates.length === 0) return
    const rows = await this.#database.queryOnce<
      [place: number, fencingToken: number, leaseOwner: string | null, hasCursors: boolean, isFree: boolean]
    >(findDone, [
      literalArray(candidates.map(({ agent }) => agent)),
      textArray(candidates.map(({ step }) => toStorable(step.key.id))),
      literalArray(candidates.map(({ step }) => kindOf(step.events))),
      literalArray(candidates.map(({ step }) => step.expect + step.events.length)),
      textArray(candidates.map(({ body }) => body)),
    ])
    for (const [place, fencingToken, leaseOwner, hasCursors, isFree] of rows) {
      const queued = candidates[place - 1] as Queued // the query returns places of candidates
      // Another process may have taken the task over since: the current fencing token belongs to it alone.
      const claim = claimOf(queued)
      const isLost = claim !== undefined && claim.owner !== leaseOwner
      outcomes.set(
        queued,
        isLost ? { result: 'fenced' } : { result: 'ok', fencingToken: queued.step.fencingToken ?? fencingToken },
      )
      this.#notify(queued, hasCursors, isFree)
    }
  }
}

/**
 * The next group: each task and each idempotency key once, because a second step must see the effect of the first. In
 * the order that the function requires.
 */
function takeGroup(queue: readonly Queued[]): { readonly group: readonly Queued[]; readonly rest: Queued[] } {
  const group: Queued[] = []
  const rest: Queued[] = []
  const taken = new Set<string>()
  for (const queued of queue) {
    const { token, step } = queued
    const marks = step.idempotency ? [token, `key ${step.idempotency.key}`] : [token]
    const isTogether = group.length < maxGroupSize && !marks.some((mark) => taken.has(mark))
    for (const mark of marks) taken.add(mark)
    ;(isTogether ? group : rest).push(queued)
  }
  return { group: group.sort(inOrder), rest }
}

function inOrder(a: Queued, b: Queued): number {
  const isCreation = ({ scope }: Queued) => (scope === undefined ? 1 : 0)
  return isCreation(a) - isCreation(b) || (a.token < b.token ? -1 : 1)
}

const kindOfClaim = 1
const kindOfRelease = 2

interface Column {
  readonly type: string
  readonly encode: (group: readonly Queued[]) => Buffer | string
}

const texts = (of: (queued: Queued) => string | undefined): Column => ({
  type: 'text',
  encode: (group) => textArray(group.map((queued) => of(queued) ?? null)),
})

const literals = (type: string, of: (queued: Queued) => number | boolean | undefined): Column => ({
  type,
  encode: (group) => literalArray(group.map((queued) => of(queued) ?? null)),
})

const storable = (text: string | undefined) => (text === undefined ? undefined : toStorable(text))
const claimOf = ({ step: { lease } }: Queued): LeaseClaim | undefined => (typeof lease === 'object' ? lease : undefined)

/** In the order of `dragoman.append`'s parameters. */
const columns: readonly Column[] = [
  literals('int', ({ agent }) => agent),
  texts(({ step }) => toStorable(step.key.id)),
  literals('bigint', ({ step }) => step.expect),
  literals('int', ({ step }) => step.events.length),
  literals('int', ({ scope }) => scope),
  texts(({ step }) => storable(step.create?.contextId)),
  texts(({ step }) => step.create?.dialect),
  literals('bigint', ({ step }) => step.fencingToken),
  literals('smallint', ({ step }) => (step.visibility === undefined ? undefined : visibilityNumber(step.visibility))),
  literals('smallint', ({ step }) => step.status && stateNumber(step.status.state)),
  literals('bigint', ({ step }) => step.status?.timeMs),
  literals('smallint', (queued) => (claimOf(queued) ? kindOfClaim : queued.step.lease && kindOfRelease)),
  texts((queued) => claimOf(queued)?.owner),
  literals('bigint', (queued) => claimOf(queued)?.ttlMs),
  literals('boolean', ({ step }) => step.isRunnable),
  literals('smallint', ({ step }) => kindOf(step.events)),
  literals('bigint', ({ step }) => step.events[0]?.time),
  texts(({ body }) => body),
  literals('bigint', ({ step }) => step.bytes),
  texts(({ snapshot }) => snapshot?.head),
  texts(({ snapshot }) => snapshot?.artifacts ?? undefined),
  literals('smallint', ({ snapshot }) => snapshot?.inLog),
  texts(({ step }) => storable(step.idempotency?.key)),
  texts(({ step }) => step.idempotency?.digest),
  literals('bigint', ({ step }) => step.idempotency?.ttlMs),
  texts(({ step }) => storable(step.pushConfig?.config.id)),
  texts(({ step: { pushConfig } }) => pushConfig && configBody(pushConfig)),
  texts(({ step: { pushConfig } }) => pushConfig && serializeIdentity(pushConfig)),
  literals('int', ({ step }) => step.pushConfig?.maxConfigs),
]

const appendCall = `SELECT place, outcome, new_fence, has_lanes, is_free FROM dragoman.append(${columns
  .map(({ type }, place) => `$${place + 1}::${type}[]`)
  .join(', ')})`

const findDone = `SELECT s.place::int, t.fence, t.lease_owner, t.lanes > 0, t.runnable AND t.lease_until <= dragoman.now_ms()
  FROM unnest($1::int[], $2::text[], $3::smallint[], $4::bigint[], $5::text[]) WITH ORDINALITY
    AS s (agent, task_id, head, last, body, place)
  JOIN dragoman.tasks t ON t.agent = s.agent AND t.task_id = s.task_id
  JOIN dragoman.events e ON e.task = t.id AND e.head = s.head AND e.last = s.last AND e.body = s.body`

/**
 * Arrays as parameters. The driver writes texts as array literals with escaped quotes, which the database parses
 * character by character: a fifth of the cost of a stream on either side. So texts are sent in binary form; numbers and
 * booleans are short and stay literals.
 */

function textArray(values: readonly (string | null)[]): Buffer {
  let size = headerBytes
  const lengths = values.map((value) => (value === null ? -1 : Buffer.byteLength(value)))
  for (const length of lengths) size += lengthBytes + Math.max(length, 0)
  const bytes = Buffer.allocUnsafe(size)
  let place = 0
  for (const word of [1, lengths.includes(-1) ? 1 : 0, textType, values.length, 1])
    place = bytes.writeInt32BE(word, place)
  for (const [index, length] of lengths.entries()) {
    place = bytes.writeInt32BE(length, place)
    const value = values[index]
    if (value) place += bytes.write(value, place)
  }
  return bytes
}

function literalArray(values: readonly (number | boolean | null)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join()}}`
}

/** The header: dimensions, whether there are nulls, the element type, the length, and the first index. */
const headerBytes = 20
const lengthBytes = 4
const textType = 25
