/** Leases of tasks. All times are those of the session's lease clock. */
import { fromStorable, toStorable } from '../storable-text.js'
import type { ClaimedTask, ClaimRequest, LeaseClaim, LeaseStore } from '../store.js'
import { disownCursors } from './deliveries.js'
import type { GroupCommit } from './group-commit.js'
import { assertEpoch, maxLeases, wallEpoch } from './lease-clock.js'
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
    // The monotonic clock makes no lease longer than it was written.
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
