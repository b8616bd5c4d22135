import { batchBody, countedAs, countStep, noState, stateNumber, toStorable, visibilityNumber } from '../rows.js'
import { type Append, type AppendOutcome, type TaskCreation, taskKeyText } from '../store.js'
import { kindOf, snapshotRow } from '../views.js'
import { markCursors, putCursor } from './deliveries.js'
import type { Session } from './session.js'

type TaskRow = [
  id: number,
  scope: number,
  visibility: number,
  seq: number,
  state: number,
  fencingToken: number,
  leaseEnd: number,
  runnable: number,
  cursors: number,
  bytes: number,
  counted: number,
]

/** Appends one step, inside a transaction of the caller. A refused step writes nothing. */
export function appendStep(session: Session, step: Append): AppendOutcome {
  const outcome = step.create ? create(session, step, step.create) : advance(session, step)
  if (outcome.result === 'ok') session.touched.tasks.set(taskKeyText(step.key), step.expect + step.events.length)
  return outcome
}

function create(session: Session, step: Append, creation: TaskCreation): AppendOutcome {
  const { sql, names } = session
  if (step.expect !== 0) return { result: 'conflict' }
  const scope = names.makeScope({ agent: step.key.agent, tenant: creation.tenant, owner: creation.owner })
  if (isKeyTaken(session, scope, step)) return { result: 'key-taken' }
  const claim = step.lease === 'release' ? undefined : step.lease
  const visibility = visibilityNumber(step.visibility ?? 'provisional')
  const state = step.status ? stateNumber(step.status.state) : noState
  const fencingToken = claim ? 1 : 0
  const bytes = step.bytes ?? 0
  const place = countedAs(visibility, state)
  const inserted = sql.insertTask.run([
    names.makeAgent(step.key.agent),
    scope,
    toStorable(step.key.id),
    toStorable(creation.contextId),
    creation.dialect,
    visibility,
    step.events.length,
    state,
    step.status?.timeMs ?? 0,
    step.status ? step.events.length : 0,
    step.isRunnable ? 1 : 0,
    fencingToken,
    claim?.owner ?? null,
    claim ? session.leaseAfter(claim.ttlMs) : 0,
    bytes,
    place === undefined ? 0 : bytes,
  ])
  if (inserted.changes === 0) return { result: 'conflict' }
  const task = Number(inserted.lastInsertRowid)
  if (place !== undefined) session.counts.add(scope, place, 1, bytes)
  if (step.isRunnable && !claim) session.touched.agents.add(step.key.agent)
  writeDetails(session, { task, scope, hasCursors: false }, step)
  return { result: 'ok', fencingToken }
}

function advance(session: Session, step: Append): AppendOutcome {
  const { sql } = session
  const agent = session.names.agent(step.key.agent)
  const row = agent === undefined ? undefined : (sql.taskRow.get(agent, toStorable(step.key.id)) as TaskRow | undefined)
  if (!row) return { result: step.fencingToken === undefined ? 'conflict' : 'fenced' }
  const [
    task,
    scope,
    visibilityBefore,
    seq,
    stateBefore,
    tokenBefore,
    leaseEnd,
    runnableBefore,
    cursors,
    bytesBefore,
    counted,
  ] = row
  if (step.fencingToken !== undefined && step.fencingToken !== tokenBefore) return { result: 'fenced' }
  if (seq !== step.expect) return { result: 'conflict' }
  const claim = step.lease === 'release' ? undefined : step.lease
  if (claim && leaseEnd > session.leaseNow()) return { result: 'conflict' }
  if (isKeyTaken(session, scope, step)) return { result: 'key-taken' }

  const last = seq + step.events.length
  const fencingToken = claim ? tokenBefore + 1 : tokenBefore
  const visibility = step.visibility ? visibilityNumber(step.visibility) : visibilityBefore
  const state = step.status ? stateNumber(step.status.state) : stateBefore
  const bytes = bytesBefore + (step.bytes ?? 0)
  const nowCounted = count(session, scope, {
    from: countedAs(visibilityBefore, stateBefore),
    to: countedAs(visibility, state),
    counted,
    bytes,
  })
  if (!step.status && !step.visibility && !step.lease && step.isRunnable === undefined)
    sql.advanceTask.run([last, bytes, nowCounted, task])
  else {
    const runnable = step.isRunnable === undefined ? runnableBefore : Number(step.isRunnable)
    const isKept = !step.lease
    sql.updateTask.run([
      last,
      bytes,
      nowCounted,
      visibility,
      state,
      step.status?.timeMs ?? null,
      step.status ? last : null,
      runnable,
      fencingToken,
      isKept ? leaseOwnerOf(session, task) : (claim?.owner ?? null),
      isKept ? leaseEnd : claim ? session.leaseAfter(claim.ttlMs) : 0,
      task,
    ])
    if (runnable === 1 && (step.lease === 'release' || leaseEnd <= session.leaseNow())) {
      session.touched.agents.add(step.key.agent)
    }
  }
  writeDetails(session, { task, scope, hasCursors: cursors > 0 }, step)
  return { result: 'ok', fencingToken }
}

interface Move {
  readonly from: number | undefined
  readonly to: number | undefined
  /** The size of the task that is in `counts`. */
  readonly counted: number
  readonly bytes: number
}

/** Updates `counts` after a change of state or size. Returns the size that is in `counts` then. */
function count({ counts }: Session, scope: number, { from, to, counted, bytes }: Move): number {
  if (from === to && (to === undefined || bytes - counted < countStep)) return counted
  if (from !== undefined) counts.add(scope, from, -1, -counted)
  if (to !== undefined) counts.add(scope, to, 1, bytes)
  return to === undefined ? 0 : bytes
}

function isKeyTaken({ sql, now }: Session, scope: number, { idempotency }: Append): boolean {
  return idempotency !== undefined && sql.findKey.get(scope, toStorable(idempotency.key), now()) !== undefined
}

function leaseOwnerOf(session: Session, task: number): string | null {
  return (session.sql.leaseOwner.get(task) as [string | null])[0]
}

interface Place {
  readonly task: number
  readonly scope: number
  readonly hasCursors: boolean
}

function writeDetails(session: Session, { task, scope, hasCursors }: Place, step: Append): void {
  const { sql, now } = session
  const { events, snapshot, idempotency, pushConfig } = step
  const first = events[0]
  const last = events.at(-1)
  if (first && last) {
    sql.insertEvents.run([task, kindOf(events), first.seq, last.seq, first.time, batchBody(events)])
  }
  if (snapshot) {
    const { head, artifacts, inLog } = snapshotRow(snapshot)
    sql.insertSnapshot.run([task, head, artifacts, inLog])
  }
  if (idempotency) {
    const { key, digest, ttlMs } = idempotency
    sql.insertKey.run(scope, toStorable(key), task, digest, step.expect + 1, now() + ttlMs)
  }
  if (pushConfig) {
    const seq = step.expect + events.length
    putCursor(session, { agent: step.key.agent, task, seq, from: step.expect }, pushConfig)
  }
  if ((hasCursors || pushConfig) && events.length > 0) markCursors(session, step.key.agent, task)
}
