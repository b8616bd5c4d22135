/** Leases of tasks, by the clock of the database. */
import { fromStorable, toStorable } from '../rows.js'
import type { ClaimedTask, ClaimRequest, LeaseClaim, LeaseStore } from '../store.js'
import { type ChangeListener, tokenOf } from './change-listener.js'
import type { Database } from './database.js'

export function postgresLeases(database: Database, changes: ChangeListener): LeaseStore {
  return {
    claim: (request) => claim(database, request),
    renew: (held, lease) => renew(database, held, lease),
    owners: () => leaseOwners(database),
    async disown(owner) {
      await database.query('UPDATE dragoman.tasks SET lease_until = 0 WHERE runnable AND lease_owner = $1', [owner])
      await database.query(
        `UPDATE dragoman.lanes SET due_ms = dragoman.now_ms(), lease_owner = NULL, fence = fence + 1
          WHERE lease_owner = $1`,
        [owner],
      )
      changes.wakeAll()
    },
  }
}

/** Replicas that claim at the same moment skip each other's rows. */
async function claim(database: Database, { agents, lease, limit }: ClaimRequest): Promise<readonly ClaimedTask[]> {
  const rows = await database.query<[agent: string, taskId: string, fencingToken: number]>(
    `UPDATE dragoman.tasks t SET fence = t.fence + 1, lease_owner = $2, lease_until = dragoman.now_ms() + $3
      FROM dragoman.agents a
      WHERE a.id = t.agent AND t.id IN (
        SELECT x.id FROM dragoman.tasks x
        WHERE x.runnable AND x.lease_until <= (SELECT dragoman.now_ms())
          AND x.agent = ANY(SELECT id FROM dragoman.agents WHERE name = ANY($1::text[]))
        ORDER BY x.id LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED)
      RETURNING a.name, t.task_id, t.fence`,
    [agents.map(toStorable), lease.owner, lease.ttlMs, limit],
  )
  return rows.map(([agent, id, fencingToken]) => ({
    key: { agent: fromStorable(agent), id: fromStorable(id) },
    fencingToken,
  }))
}

/** Returns lost leases. It locks rows in the order of appends, so that they cannot deadlock. */
async function renew(
  database: Database,
  held: readonly ClaimedTask[],
  lease: LeaseClaim,
): Promise<readonly ClaimedTask[]> {
  if (held.length === 0) return []
  const inOrder = held
    .map((each) => ({ each, token: tokenOf(each.key) }))
    .sort((a, b) => (a.token < b.token ? -1 : 1))
    .map(({ each }) => each)
  const rows = await database.query<[place: number]>(
    `WITH locked AS (
        SELECT t.id, h.place
        FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS h (agent, task_id, fence, place)
          JOIN dragoman.agents a ON a.name = h.agent
          JOIN dragoman.tasks t ON t.agent = a.id AND t.task_id = h.task_id
        WHERE t.fence = h.fence AND t.lease_owner = $4
        ORDER BY h.place FOR NO KEY UPDATE OF t)
      UPDATE dragoman.tasks t SET lease_until = dragoman.now_ms() + $5 FROM locked WHERE t.id = locked.id
      RETURNING locked.place`,
    [
      inOrder.map(({ key }) => toStorable(key.agent)),
      inOrder.map(({ key }) => toStorable(key.id)),
      inOrder.map(({ fencingToken }) => fencingToken),
      lease.owner,
      lease.ttlMs,
    ],
  )
  const kept = new Set(rows.map(([place]) => place - 1))
  return inOrder.filter((_, place) => !kept.has(place))
}

async function leaseOwners(database: Database): Promise<readonly string[]> {
  const rows = await database.query<[string]>(
    `SELECT DISTINCT lease_owner FROM dragoman.tasks
      WHERE runnable AND lease_owner IS NOT NULL AND lease_until > (SELECT dragoman.now_ms())
    UNION SELECT DISTINCT lease_owner FROM dragoman.lanes WHERE lease_owner IS NOT NULL`,
  )
  return rows.map(([owner]) => owner)
}
