/**
 * The schema, as numbered steps; `PRAGMA user_version` is the number of applied steps. Do not edit a released step.
 *
 * For speed: integer keys, one row per committed batch of events, and few indexes, which all grow at their right edge
 * because ids and times do.
 */
export const migrations: readonly string[] = [
  /* 1 */ `
  CREATE TABLE agents (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

  CREATE TABLE scopes (
    id INTEGER PRIMARY KEY, agent INTEGER NOT NULL, tenant TEXT NOT NULL, owner TEXT NOT NULL,
    UNIQUE (agent, tenant, owner));

  -- AUTOINCREMENT: an id that was given out is never given out again, not even after retention. Others
  -- notice new events by growing ids, and what refers to a removed task must not find a new one.
  CREATE TABLE tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    agent INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    task_id TEXT NOT NULL,
    context TEXT NOT NULL,
    dialect TEXT NOT NULL,
    visibility INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    state INTEGER NOT NULL,
    status_ms INTEGER NOT NULL,
    runnable INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    lease_owner TEXT,
    lease_until INTEGER NOT NULL);
  CREATE UNIQUE INDEX tasks_by_id ON tasks (agent, task_id);
  CREATE INDEX tasks_by_state ON tasks (scope, state, status_ms) WHERE visibility = 1;
  CREATE INDEX tasks_by_context ON tasks (scope, context, status_ms, state) WHERE visibility = 1;
  CREATE INDEX tasks_ended ON tasks (agent, status_ms) WHERE visibility = 1 AND state IN (2, 3, 4, 6);
  CREATE INDEX tasks_runnable ON tasks (agent, lease_until) WHERE runnable = 1;

  -- How many visible tasks a scope has in each state, so that an exact total needs no scan.
  CREATE TABLE counts (
    scope INTEGER NOT NULL, state INTEGER NOT NULL, n INTEGER NOT NULL,
    PRIMARY KEY (scope, state)) WITHOUT ROWID;

  -- One row per committed batch. Batches with nothing but artifact chunks have head = 0 and lie
  -- apart in the index, so that a list without artifacts never touches them.
  CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task INTEGER NOT NULL, head INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    time_ms INTEGER NOT NULL, body TEXT NOT NULL);
  CREATE INDEX events_by_task ON events (task, head, last);

  CREATE TABLE snapshots (task INTEGER PRIMARY KEY, head TEXT NOT NULL, artifacts TEXT);

  CREATE TABLE keys (
    scope INTEGER NOT NULL, key TEXT NOT NULL, task INTEGER NOT NULL, digest TEXT NOT NULL, seq INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    PRIMARY KEY (scope, key)) WITHOUT ROWID;
  CREATE INDEX keys_by_time ON keys (until_ms);
  CREATE INDEX keys_by_task ON keys (task);

  CREATE TABLE push_configs (
    task INTEGER NOT NULL, id TEXT NOT NULL, dialect TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (task, id)) WITHOUT ROWID;

  CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,
    task INTEGER NOT NULL, config TEXT NOT NULL, seq INTEGER NOT NULL,
    attempts INTEGER NOT NULL, due_ms INTEGER NOT NULL, is_dead INTEGER NOT NULL, lease_until INTEGER NOT NULL);
  CREATE INDEX outbox_by_lane ON outbox (task, config, id);
  CREATE INDEX outbox_by_due ON outbox (due_ms) WHERE is_dead = 0;
  `,
  /* 2 */ `
  CREATE TABLE collections (name TEXT PRIMARY KEY, head INTEGER NOT NULL, floor INTEGER NOT NULL) WITHOUT ROWID;

  -- A row without a body is a tombstone.
  CREATE TABLE records (
    collection TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER NOT NULL, body TEXT, until_ms INTEGER NOT NULL,
    written_ms INTEGER NOT NULL,
    PRIMARY KEY (collection, id));
  CREATE UNIQUE INDEX records_by_revision ON records (collection, revision);
  CREATE INDEX records_by_expiry ON records (collection, until_ms) WHERE body IS NOT NULL;
  CREATE INDEX records_tombstones ON records (collection, written_ms) WHERE body IS NULL;
  `,
  /* 3 */ `
  -- A push config and its place in the log. due_ms is when it may be claimed, which a claim moves to the end
  -- of its lease; NULL when there is nothing to tell, so that the index holds only what has.
  CREATE TABLE lanes (
    task INTEGER NOT NULL, config TEXT NOT NULL, agent INTEGER NOT NULL, body TEXT NOT NULL,
    seq INTEGER NOT NULL, attempts INTEGER NOT NULL, fence INTEGER NOT NULL, due_ms INTEGER, lease_owner TEXT,
    PRIMARY KEY (task, config)) WITHOUT ROWID;
  CREATE INDEX lanes_due ON lanes (agent, due_ms) WHERE due_ms IS NOT NULL;
  CREATE INDEX lanes_held ON lanes (lease_owner) WHERE lease_owner IS NOT NULL;

  -- How many lanes a task has. Appends read this row anyway: tasks without webhooks pay nothing for them.
  ALTER TABLE tasks ADD COLUMN lanes INTEGER NOT NULL DEFAULT 0;

  INSERT INTO lanes (task, config, agent, body, seq, attempts, fence)
    SELECT p.task, p.id, t.agent, json_object('config', json(p.body), 'dialect', p.dialect), t.seq, 0, 0
    FROM push_configs p JOIN tasks t ON t.id = p.task;
  UPDATE tasks SET lanes = (SELECT count(*) FROM lanes l WHERE l.task = tasks.id)
    WHERE id IN (SELECT task FROM lanes);
  DROP TABLE push_configs;
  DROP TABLE outbox;

  CREATE TABLE dead_letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT, scope INTEGER NOT NULL, task INTEGER NOT NULL, config TEXT NOT NULL,
    seq INTEGER NOT NULL, attempts INTEGER NOT NULL, error TEXT NOT NULL, time_ms INTEGER NOT NULL);
  CREATE INDEX dead_letters_by_lane ON dead_letters (task, config);
  `,
  /* 4 */ `
  -- Times of leases are those of a clock that nobody sets. New names: a program that still writes the wall clock's
  -- time fails, instead of mixing both.
  ALTER TABLE tasks RENAME COLUMN lease_until TO lease_end;
  ALTER TABLE lanes RENAME COLUMN due_ms TO due;
  -- The clock whose times lease_end and due are.
  CREATE TABLE clock (epoch TEXT NOT NULL);
  INSERT INTO clock VALUES ('wall');

  -- Written and emptied to find out whether a disk that was full has room again.
  CREATE TABLE probe (body BLOB NOT NULL);
  `,
  /* 5 */ `
  -- Readers find the status, the newest messages and the artifacts of a running task without reading the rest of its
  -- log: events.head says which of them a batch holds (see \`batchKinds\`), status_last where the newest status is.
  ALTER TABLE tasks ADD COLUMN status_last INTEGER NOT NULL DEFAULT 0;
  UPDATE events SET head = 4 WHERE head = 1;

  -- Which parts of a snapshot were too large to be written again and are in the log only.
  ALTER TABLE snapshots ADD COLUMN in_log INTEGER NOT NULL DEFAULT 0;
  `,
  /* 6 */ `
  -- The size of each task, and the part of it that the counts of its scope know.
  ALTER TABLE tasks ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE tasks ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;
  UPDATE tasks SET bytes = coalesce((SELECT sum(octet_length(body)) FROM events WHERE task = tasks.id),
    (SELECT octet_length(head) + coalesce(octet_length(artifacts), 0) FROM snapshots WHERE task = tasks.id), 0);
  UPDATE tasks SET counted = bytes WHERE visibility = 2 OR (visibility = 1 AND state >= 0);

  -- State -1: Message answers.
  ALTER TABLE counts ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
  UPDATE counts SET bytes = (SELECT coalesce(sum(counted), 0) FROM tasks t
    WHERE t.scope = counts.scope AND t.state = counts.state AND t.visibility = 1);
  INSERT INTO counts (scope, state, n, bytes)
    SELECT scope, -1, count(*), sum(counted) FROM tasks WHERE visibility = 2 GROUP BY scope;
  CREATE INDEX scopes_by_owner ON scopes (agent, owner);
  `,
]
