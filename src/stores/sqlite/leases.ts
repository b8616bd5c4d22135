/** Leases of tasks, and the clock of all leases. */

import { readFileSync } from 'node:fs'
import type Database from 'libsql'
import { fromStorable, toStorable } from '../rows.js'
import type { ClaimedTask, ClaimRequest, LeaseClaim, LeaseStore } from '../store.js'
import type { GroupCommit } from './commits.js'
import type { Session } from './session.js'

export function sqliteLeases(session: Session, commits: GroupCommit): LeaseStore {
  return {
    claim: (request) => commits.write(() => claim(session, request)),
    renew: (held, lease) => commits.write(() => renew(session, held, lease)),
    owners: async () => leaseOwners(session),
    disown: (owner) => commits.write(() => disown(session, owner)),
  }
}

function claim(session: Session, { agents, lease, limit }: ClaimRequest): readonly ClaimedTask[] {
  const { sql, names } = session
  assertEpoch(session)
  const claimed: ClaimedTask[] = []
  const now = session.leaseNow()
  for (const agent of agents) {
    const number = names.agent(agent)
    if (number === undefined || claimed.length >= limit) continue
    // Only a wall clock can be set back and so make leases longer.
    if (session.epoch === wallEpoch) sql.shortenLeases.run(session.leaseAfter(maxLeases * lease.ttlMs), number)
    const rows = sql.claimable.all(number, now, limit - claimed.length) as [number, string, number][]
    for (const [id, taskId, fencingToken] of rows) {
      sql.takeLease.run(fencingToken + 1, lease.owner, session.leaseAfter(lease.ttlMs), id)
      claimed.push({ key: { agent, id: fromStorable(taskId) }, fencingToken: fencingToken + 1 })
    }
  }
  return claimed
}

function renew(session: Session, held: readonly ClaimedTask[], { owner, ttlMs }: LeaseClaim): readonly ClaimedTask[] {
  assertEpoch(session)
  const { sql, names } = session
  const end = session.leaseAfter(ttlMs)
  return held.filter(({ key, fencingToken }) => {
    const agent = names.agent(key.agent)
    return agent === undefined || sql.renewLease.run(end, agent, toStorable(key.id), fencingToken, owner).changes === 0
  })
}

function leaseOwners({ sql, leaseNow }: Session): readonly string[] {
  const owners = new Set<string>()
  for (const [agent] of sql.agentIds.all() as [number][]) {
    for (const [owner] of sql.leaseOwners.all(agent, leaseNow()) as [string][]) owners.add(owner)
  }
  for (const [owner] of sql.cursorOwners.all() as [string][]) owners.add(owner)
  return [...owners]
}

function disown(session: Session, owner: string): void {
  for (const [agent] of session.sql.agentIds.all() as [number][]) session.sql.disown.run(agent, owner)
  disownCursors(session, owner)
}

/** The clock that the leases of a SQLite store are measured by. */
export interface LeaseClock {
  /** Identifies the clock. Stored times of another epoch are void. */
  readonly epoch: string
  /** Milliseconds since a moment of the epoch. Stored times up to this one have passed. */
  now(): number
  /** The time to store for a moment `ms` from now. Default: `now() + ms`. */
  after?(ms: number): number
}

/** The wall clock was set if it differs from the monotonic clock by more than this. */
const jumpMs = 1_000
/** Time for other processes to renew their leases by the new time. */
const graceMs = 60_000

/**
 * The longest that a process lets a lease of another process last, as a multiple of its own. A wall clock that was set
 * back makes earlier leases longer.
 */
export const maxLeases = 4

/** The epoch of clocks that can be set. */
const wallEpoch = 'wall'

export function systemLeaseClock(): LeaseClock {
  const epoch = bootId()
  return epoch === undefined ? clampedClock(Date.now, () => performance.now()) : { epoch, now: monotonicMs }
}

/**
 * The wall clock, for systems without a boot id. After a jump it takes the earlier of the old and the new time for a
 * minute: leases that were written by either are respected until their owners have renewed them.
 */
export function clampedClock(wall: () => number, monotonic: () => number): LeaseClock {
  let offsetMs = wall() - monotonic()
  let jumpedAtMs: number | undefined
  const now = () => {
    const wallMs = wall()
    const sinceMs = monotonic()
    const steadyMs = Math.floor(sinceMs + offsetMs)
    const hasJumped = Math.abs(wallMs - steadyMs) > jumpMs
    jumpedAtMs = hasJumped ? (jumpedAtMs ?? sinceMs) : undefined
    if (jumpedAtMs !== undefined && sinceMs - jumpedAtMs < graceMs) return Math.min(wallMs, steadyMs)
    jumpedAtMs = undefined
    offsetMs = wallMs - sinceMs
    return wallMs
  }
  return { epoch: wallEpoch, now, after: (ms) => wall() + ms }
}

/** Voids times of another epoch: leases end, and waiting webhooks are due now. */
export function adoptEpoch(db: Database.Database, { epoch, now }: LeaseClock): void {
  if (storedEpoch(db) === epoch) return
  db.exec('BEGIN IMMEDIATE')
  try {
    if (storedEpoch(db) !== epoch) {
      db.exec('UPDATE tasks SET lease_end = 0 WHERE runnable = 1 AND lease_end > 0')
      db.prepare('UPDATE lanes SET due = ?, lease_owner = NULL, fence = fence + 1 WHERE due IS NOT NULL').run(now())
      db.prepare('UPDATE clock SET epoch = ?').run(epoch)
    }
    db.exec('COMMIT')
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK')
    throw error
  }
}

function storedEpoch(db: Database.Database): string {
  return (db.prepare('SELECT epoch FROM clock').raw().get() as [string])[0] // one row, made by a migration
}

/** While this process runs its boot id stays: another epoch means that another kernel uses the file. */
function assertEpoch({ sql, epoch }: Session): void {
  const [stored] = sql.epoch.get() as [string] // one row
  if (stored !== epoch)
    throw new Error(
      'The store is used by processes that share no clock: run all of them on one machine and one runtime',
    )
}

/** Absent outside Linux, and in runtimes whose monotonic clock starts with the process. */
function bootId(): string | undefined {
  if (process.platform !== 'linux' || 'bun' in process.versions || 'deno' in process.versions) return undefined
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim() || undefined
  } catch {
    return undefined
  }
}

/** CLOCK_MONOTONIC. Unlike `performance.now()` it does not start with the process. */
function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + Math.floor(nanoseconds / 1_000_000)
}

function disownCursors({ sql, leaseNow, touched, names }: Session, owner: string): void {
  if (sql.disownCursors.run(leaseNow(), owner).changes > 0)
    for (const agent of names.known()) touched.cursors.add(agent)
}
