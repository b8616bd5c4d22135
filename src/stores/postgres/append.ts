/**
 * Many appends, one round trip. Steps that are asked for while the database works are gathered and sent together;
 * each is refused or done on its own (`dragoman.append` in the migrations).
 *
 * A connection may break after the database has committed and before it could say so. Steps are then looked for
 * in the log before they are tried again: a step whose events are there, word for word, was done.
 */
import { CommitWatchers } from '../commit-watchers.js'
import { batchBody, hasHead, stateNumber, visibilityNumber } from '../rows.js'
import { toStorable } from '../storable-text.js'
import { type Append, type AppendOutcome, type IdempotencyKey, type LeaseClaim, spellConfig } from '../store.js'
import { type Database, isPassing, type Row } from './database.js'
import { bodyOf } from './lanes.js'
import type { Names } from './names.js'
import { type Notices, tokenOf } from './notices.js'

interface Queued {
  readonly step: Append
  readonly agent: number
  readonly scope: number | undefined
  readonly body: string
  resolve(outcome: AppendOutcome): void
  reject(error: unknown): void
}

const largestGroup = 500
/** Beyond one, so that the next group is on its way while the database writes the last. */
const mostGroups = 2

export class Appender {
  readonly #database: Database
  readonly #names: Names
  readonly #notices: Notices
  readonly watchers = new CommitWatchers()
  #queue: Queued[] = []
  #isScheduled = false
  #underWay = 0

  constructor(database: Database, names: Names, notices: Notices) {
    this.#database = database
    this.#names = names
    this.#notices = notices
  }

  async append(step: Append): Promise<AppendOutcome> {
    const { key, create } = step
    if (create && step.expect !== 0) return { result: 'conflict' }
    const agent = this.#names.knownAgent(key.agent) ?? (await this.#names.makeAgent(key.agent))
    const scope = create && { agent: key.agent, tenant: create.tenant, owner: create.owner }
    const number = scope && (this.#names.knownScope(scope) ?? (await this.#names.makeScope(scope)))
    return await new Promise((resolve, reject) => {
      const body = step.events.length > 0 ? batchBody(step.events) : ''
      this.#queue.push({ step, agent, scope: number, body, resolve, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#isScheduled || this.#underWay >= mostGroups || this.#queue.length === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const group = this.#queue.slice(0, largestGroup)
      this.#queue = this.#queue.slice(group.length)
      this.#underWay += 1
      void this.#write(group).finally(() => {
        this.#underWay -= 1
        this.#schedule()
      })
      this.#schedule()
    })
  }

  /** Never rejects: every step of the group learns what became of it. */
  async #write(group: readonly Queued[]): Promise<void> {
    const begunMs = this.watchers.begin()
    try {
      const settled = await this.#database.patiently((attempt) => this.#attempt(group, attempt > 0))
      for (const [place, each] of group.entries()) each.resolve(settled[place] ?? { result: 'conflict' })
      this.watchers.committed(group.length, begunMs)
    } catch (error) {
      // One bad step must not take the others of its group with it; a database that is away takes all of them.
      if (group.length === 1 || isPassing(error)) for (const each of group) each.reject(error)
      else for (const each of group) await this.#write([each])
    }
  }

  async #attempt(group: readonly Queued[], isAgain: boolean): Promise<readonly AppendOutcome[]> {
    const outcomes: AppendOutcome[] = []
    const done = isAgain ? await this.#findDone(group) : new Map<number, number>()
    for (const [place, fence] of done) outcomes[place] = { result: 'ok', fence }
    const places = [...group.keys()].filter((place) => !done.has(place))
    if (places.length === 0) return outcomes
    const rows = await this.#database.queryOnce<
      [place: number, result: AppendOutcome['result'], fence: number, hasLanes: boolean]
    >(appendCall, this.#columns(group, places))
    for (const [place, result, fence, hasLanes] of rows) {
      outcomes[place] = result === 'ok' ? { result, fence } : { result }
      const { step } = group[place] as Queued // places are of the group
      if (result !== 'ok') continue
      this.#notices.wakeTask(step.key, step.expect + step.events.length)
      if (step.isRunnable && typeof step.lease !== 'object') this.#notices.wakeAgent(step.key.agent)
      if (hasLanes) this.#notices.wakeLanes(step.key.agent)
    }
    return outcomes
  }

  /** Places of steps that were committed by an attempt nobody heard back from, and their fences. */
  async #findDone(group: readonly Queued[]): Promise<Map<number, number>> {
    const told = [...group.entries()].filter(([, { step }]) => step.events.length > 0)
    const column = <T>(pick: (queued: Queued) => T) => told.map(([, queued]) => pick(queued))
    const rows = await this.#database.queryOnce<[number, number]>(findDone, [
      told.map(([place]) => place),
      column(({ agent }) => agent),
      column(({ step }) => toStorable(step.key.id)),
      column(({ step }) => hasHead(step.events)),
      column(({ step }) => step.expect + step.events.length),
      column(({ body }) => body),
    ])
    return new Map(rows)
  }

  #columns(group: readonly Queued[], places: readonly number[]): unknown[] {
    const rows = places.map((place) => columnsOf(group[place] as Queued, place)) // places are of the group
    const width = rows[0]?.length ?? 0
    return [this.#notices.sender, ...Array.from({ length: width }, (_, column) => rows.map((row) => row[column]))]
  }
}

const kindOfClaim = 1
const kindOfRelease = 2

/** One step, in the order of `dragoman.append`'s parameters. */
function columnsOf({ step, agent, scope, body }: Queued, place: number): Row {
  const { key, create, events, status, visibility, snapshot, idempotency, pushConfig } = step
  const claim: LeaseClaim | undefined = typeof step.lease === 'object' ? step.lease : undefined
  const keyed: IdempotencyKey | undefined = idempotency
  const { artifacts, ...head } = snapshot ?? {}
  return [
    place,
    agent,
    toStorable(key.id),
    step.expect,
    events.length,
    scope ?? null,
    create ? toStorable(create.contextId) : null,
    create?.dialect ?? null,
    step.fence ?? null,
    visibility === undefined ? null : visibilityNumber(visibility),
    status ? stateNumber(status.state) : null,
    status?.timeMs ?? null,
    claim ? kindOfClaim : step.lease === 'release' ? kindOfRelease : null,
    claim?.owner ?? null,
    claim?.ttlMs ?? null,
    step.isRunnable ?? null,
    hasHead(events),
    events[0]?.time ?? null,
    body,
    snapshot ? JSON.stringify(head) : null,
    artifacts ? JSON.stringify(artifacts) : null,
    keyed ? toStorable(keyed.key) : null,
    keyed?.digest ?? null,
    keyed?.ttlMs ?? null,
    pushConfig ? toStorable(pushConfig.config.id) : null,
    pushConfig ? bodyOf(pushConfig) : null,
    pushConfig ? spellConfig(pushConfig) : null,
    pushConfig?.most ?? null,
    tokenOf(key),
  ]
}

const types = [
  'text',
  ...['int', 'int', 'text', 'bigint', 'int', 'int', 'text', 'text', 'bigint', 'smallint', 'smallint', 'bigint'],
  ...['smallint', 'text', 'bigint', 'boolean', 'boolean', 'bigint', 'text', 'text', 'text', 'text', 'text', 'bigint'],
  ...['text', 'text', 'text', 'int', 'text'],
]

const appendCall = `SELECT place, outcome, new_fence, has_lanes FROM dragoman.append(${types
  .map((type, place) => (place === 0 ? '$1' : `$${place + 1}::${type}[]`))
  .join(', ')})`

const findDone = `SELECT s.place, t.fence
  FROM unnest($1::int[], $2::int[], $3::text[], $4::boolean[], $5::bigint[], $6::text[])
    AS s (place, agent, task_id, head, last, body)
  JOIN dragoman.tasks t ON t.agent = s.agent AND t.task_id = s.task_id
  JOIN dragoman.events e ON e.task = t.id AND e.head = s.head AND e.last = s.last AND e.body = s.body`
