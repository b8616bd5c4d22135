/**
 * The schema, as plain numbered steps; `dragoman.migrations` says which were done. A step that has been
 * released is never edited, with one exception: the step that last changed `append-function.ts` replaces the function,
 * so earlier steps need not make it.
 *
 * All objects are in the schema `dragoman` and are called by their full names: connections need no settings, so poolers
 * work. Time is `dragoman.now_ms()`, never the clock of a replica. `change-listener.ts` describes the payloads of NOTIFY.
 * The caller sends the frequent ones (`notifier.ts`), functions here the others.
 */
import { appendFunction } from './append-function.js'

export const migrations: readonly string[] = [
  /* 1 */ `
  CREATE FUNCTION dragoman.now_ms() RETURNS bigint LANGUAGE sql AS
    $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

  CREATE TABLE dragoman.agents (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE);

  CREATE TABLE dragoman.scopes (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent int NOT NULL, tenant text NOT NULL, owner text NOT NULL,
    UNIQUE (agent, tenant, owner));

  CREATE TABLE dragoman.tasks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent int NOT NULL,
    scope int NOT NULL,
    task_id text NOT NULL,
    context text NOT NULL,
    dialect text NOT NULL,
    visibility smallint NOT NULL,
    state smallint NOT NULL,
    runnable boolean NOT NULL,
    seq bigint NOT NULL,
    -- What its callers see, by the clock of whoever wrote it.
    status_ms bigint NOT NULL,
    -- By the database's clock: what retention counts from.
    ended_ms bigint,
    fence bigint NOT NULL,
    lease_owner text,
    lease_until bigint NOT NULL,
    -- How many push configs it has. Appends read this row anyway: tasks without webhooks pay nothing for them.
    lanes int NOT NULL DEFAULT 0)
    -- Room on the page for the next version of a row: most updates then touch no index.
    WITH (fillfactor = 80);
  CREATE UNIQUE INDEX tasks_by_id ON dragoman.tasks (agent, task_id);
  CREATE INDEX tasks_by_state ON dragoman.tasks (scope, state, status_ms, id) WHERE visibility = 1;
  CREATE INDEX tasks_by_context ON dragoman.tasks (scope, context, status_ms, id) WHERE visibility = 1;
  CREATE INDEX tasks_ended ON dragoman.tasks (agent, ended_ms) WHERE ended_ms IS NOT NULL;
  CREATE INDEX tasks_runnable ON dragoman.tasks (agent, id) WHERE runnable;

  -- How many visible tasks a scope has in each state, as changes to be summed up: replicas that count at the
  -- same time add rows instead of waiting for each other. Sweeps put the rows together.
  CREATE TABLE dragoman.counts (scope int NOT NULL, state smallint NOT NULL, n bigint NOT NULL);
  CREATE INDEX counts_by_scope ON dragoman.counts (scope, state);

  -- One row per committed batch. Batches with nothing but artifact chunks have head = false and lie apart
  -- in the index, so that a list without artifacts never touches them.
  CREATE TABLE dragoman.events (
    task bigint NOT NULL, head boolean NOT NULL, first bigint NOT NULL, last bigint NOT NULL,
    time_ms bigint NOT NULL, body text NOT NULL);
  CREATE UNIQUE INDEX events_by_task ON dragoman.events (task, head, last);

  CREATE TABLE dragoman.snapshots (task bigint PRIMARY KEY, head text NOT NULL, artifacts text);

  CREATE TABLE dragoman.keys (
    scope int NOT NULL, key text NOT NULL, task bigint NOT NULL, digest text NOT NULL, seq bigint NOT NULL,
    until_ms bigint NOT NULL,
    PRIMARY KEY (scope, key));
  CREATE INDEX keys_by_time ON dragoman.keys (until_ms);
  CREATE INDEX keys_by_task ON dragoman.keys (task);

  -- A push config and its place in the log. due_ms is when it may be claimed, which a claim moves to the end of
  -- its lease; NULL when there is nothing to tell, so that the index holds only what has. same is what two configs
  -- have in common that are the same.
  CREATE TABLE dragoman.lanes (
    task bigint NOT NULL, config text COLLATE "C" NOT NULL, agent int NOT NULL, body text NOT NULL, same text NOT NULL,
    seq bigint NOT NULL, attempts int NOT NULL, fence bigint NOT NULL, due_ms bigint, lease_owner text,
    PRIMARY KEY (task, config));
  CREATE INDEX lanes_due ON dragoman.lanes (agent, due_ms) WHERE due_ms IS NOT NULL;
  CREATE INDEX lanes_held ON dragoman.lanes (lease_owner) WHERE lease_owner IS NOT NULL;

  CREATE TABLE dragoman.dead_letters (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, scope int NOT NULL, task bigint NOT NULL, config text NOT NULL,
    seq bigint NOT NULL, attempts int NOT NULL, error text NOT NULL, time_ms bigint NOT NULL);
  CREATE UNIQUE INDEX dead_letters_by_lane ON dragoman.dead_letters (task, config, seq);

  -- A row without a body is a tombstone.
  CREATE TABLE dragoman.collections (name text PRIMARY KEY, head bigint NOT NULL, floor bigint NOT NULL);
  CREATE TABLE dragoman.records (
    collection text NOT NULL, id text NOT NULL, revision bigint NOT NULL, body text, until_ms bigint NOT NULL,
    written_ms bigint NOT NULL,
    PRIMARY KEY (collection, id));
  CREATE UNIQUE INDEX records_by_revision ON dragoman.records (collection, revision);
  CREATE INDEX records_by_expiry ON dragoman.records (collection, until_ms) WHERE body IS NOT NULL;
  CREATE INDEX records_tombstones ON dragoman.records (collection, written_ms) WHERE body IS NULL;

  CREATE FUNCTION dragoman.agent_of(given text) RETURNS int LANGUAGE plpgsql AS $$
  DECLARE found int;
  BEGIN
    SELECT id INTO found FROM dragoman.agents WHERE name = given;
    IF found IS NULL THEN
      INSERT INTO dragoman.agents (name) VALUES (given) ON CONFLICT DO NOTHING;
      SELECT id INTO found FROM dragoman.agents WHERE name = given;
    END IF;
    RETURN found;
  END $$;

  CREATE FUNCTION dragoman.scope_of(of_agent int, of_tenant text, of_owner text) RETURNS int LANGUAGE plpgsql AS $$
  DECLARE found int;
  BEGIN
    SELECT id INTO found FROM dragoman.scopes WHERE agent = of_agent AND tenant = of_tenant AND owner = of_owner;
    IF found IS NULL THEN
      INSERT INTO dragoman.scopes (agent, tenant, owner) VALUES (of_agent, of_tenant, of_owner) ON CONFLICT DO NOTHING;
      SELECT id INTO found FROM dragoman.scopes WHERE agent = of_agent AND tenant = of_tenant AND owner = of_owner;
    END IF;
    RETURN found;
  END $$;

  -- For a task whose row the caller has locked. A new lane begins behind from_seq; one that is replaced goes on
  -- where it was, at once. The caller tells the others.
  CREATE FUNCTION dragoman.put_lane(of_task bigint, of_agent int, of_config text, new_body text, new_same text,
    most int, last_seq bigint, from_seq bigint) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE l record;
  BEGIN
    SELECT same, seq INTO l FROM dragoman.lanes WHERE task = of_task AND config = of_config FOR UPDATE;
    IF FOUND THEN
      IF l.same <> new_same THEN
        UPDATE dragoman.lanes SET body = new_body, same = new_same, attempts = 0, fence = fence + 1, lease_owner = NULL,
            due_ms = CASE WHEN last_seq > l.seq THEN dragoman.now_ms() END
          WHERE task = of_task AND config = of_config;
      END IF;
      RETURN 'ok';
    END IF;
    IF (SELECT count(*) FROM dragoman.lanes WHERE task = of_task) >= most THEN RETURN 'full'; END IF;
    INSERT INTO dragoman.lanes (task, config, agent, body, same, seq, attempts, fence)
      VALUES (of_task, of_config, of_agent, new_body, new_same, from_seq, 0, 0);
    UPDATE dragoman.tasks SET lanes = lanes + 1 WHERE id = of_task;
    RETURN 'ok';
  END $$;

  -- Says how far a lane has come. The task is locked first, as appends do it: events that are committed meanwhile
  -- either find the lane at rest and wake it, or are seen here.
  CREATE FUNCTION dragoman.settle_lane(of_agent int, of_task_id text, of_config text, of_fence bigint, at_seq bigint,
    tries int, hold_ms bigint, retry_ms bigint, dead_seqs bigint[], dead_tries int[], dead_errors text[])
  RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE t record; l record; place bigint; now_is bigint := dragoman.now_ms();
  BEGIN
    SELECT id, scope, seq INTO t FROM dragoman.tasks WHERE agent = of_agent AND task_id = of_task_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN RETURN false; END IF;
    SELECT seq, fence INTO l FROM dragoman.lanes WHERE task = t.id AND config = of_config FOR UPDATE;
    IF NOT FOUND OR l.fence <> of_fence THEN RETURN false; END IF;
    place := greatest(at_seq, l.seq);
    UPDATE dragoman.lanes SET seq = place, attempts = tries,
        due_ms = CASE WHEN hold_ms IS NOT NULL THEN now_is + hold_ms
          WHEN t.seq > place THEN now_is + coalesce(retry_ms, 0) END,
        lease_owner = CASE WHEN hold_ms IS NOT NULL THEN lease_owner END
      WHERE task = t.id AND config = of_config;
    IF hold_ms IS NULL AND retry_ms IS NULL AND t.seq > place THEN
      PERFORM pg_notify('dragoman', '- l' || of_agent);
    END IF;
    INSERT INTO dragoman.dead_letters (scope, task, config, seq, attempts, error, time_ms)
      SELECT t.scope, t.id, of_config, d.seq, d.tries, d.error, now_is
      FROM unnest(dead_seqs, dead_tries, dead_errors) AS d (seq, tries, error)
      ON CONFLICT DO NOTHING;
    RETURN true;
  END $$;

  -- The next revision of a collection. Its row stays locked to the end of the transaction: revisions are committed
  -- in their order, and readers never miss one.
  CREATE FUNCTION dragoman.next_revision(of_collection text) RETURNS bigint LANGUAGE sql AS $$
    INSERT INTO dragoman.collections AS c (name, head, floor) VALUES (of_collection, 1, 0)
      ON CONFLICT (name) DO UPDATE SET head = c.head + 1 RETURNING head $$;

  -- Writes a document, or its tombstone when there is no body. expect NULL: whatever is there.
  CREATE FUNCTION dragoman.write_record(sender text, of_collection text, of_id text, new_body text, ttl_ms bigint,
    expect bigint, told text) RETURNS TABLE (is_done boolean, new_revision bigint) LANGUAGE plpgsql AS $$
  DECLARE present bigint; now_is bigint;
  BEGIN
    PERFORM pg_advisory_xact_lock(7102027, hashtext(of_collection));
    now_is := dragoman.now_ms();
    SELECT r.revision INTO present FROM dragoman.records r
      WHERE r.collection = of_collection AND r.id = of_id AND r.body IS NOT NULL AND r.until_ms > now_is;
    present := coalesce(present, 0);
    IF expect IS NOT NULL AND expect <> present THEN RETURN QUERY SELECT false, present; RETURN; END IF;
    IF new_body IS NULL AND present = 0 THEN RETURN QUERY SELECT true, 0::bigint; RETURN; END IF;
    new_revision := dragoman.next_revision(of_collection);
    INSERT INTO dragoman.records (collection, id, revision, body, until_ms, written_ms)
      VALUES (of_collection, of_id, new_revision, new_body,
        CASE WHEN ttl_ms IS NULL THEN 9007199254740991 ELSE now_is + ttl_ms END, now_is)
      ON CONFLICT (collection, id) DO UPDATE SET revision = excluded.revision, body = excluded.body,
        until_ms = excluded.until_ms, written_ms = excluded.written_ms;
    PERFORM pg_notify('dragoman', sender || ' c' || told);
    RETURN QUERY SELECT true, new_revision;
  END $$;

  -- Buries what has expired and forgets old tombstones, at most so many at once.
  CREATE FUNCTION dragoman.sweep_records(sender text, of_collection text, most int, tombstones_ms bigint, told text)
  RETURNS TABLE (buried int, forgotten int) LANGUAGE plpgsql AS $$
  DECLARE each record; now_is bigint;
  BEGIN
    PERFORM pg_advisory_xact_lock(7102027, hashtext(of_collection));
    now_is := dragoman.now_ms();
    buried := 0;
    forgotten := 0;
    FOR each IN SELECT r.id FROM dragoman.records r
        WHERE r.collection = of_collection AND r.body IS NOT NULL AND r.until_ms <= now_is LIMIT most LOOP
      UPDATE dragoman.records SET revision = dragoman.next_revision(of_collection), body = NULL,
          until_ms = 9007199254740991, written_ms = now_is
        WHERE collection = of_collection AND id = each.id;
      buried := buried + 1;
    END LOOP;
    IF tombstones_ms IS NOT NULL THEN
      FOR each IN DELETE FROM dragoman.records r WHERE (r.collection, r.id) IN (
          SELECT x.collection, x.id FROM dragoman.records x
          WHERE x.collection = of_collection AND x.body IS NULL AND x.written_ms <= now_is - tombstones_ms
          LIMIT most - buried) RETURNING r.revision LOOP
        UPDATE dragoman.collections SET floor = greatest(floor, each.revision) WHERE name = of_collection;
        forgotten := forgotten + 1;
      END LOOP;
    END IF;
    IF buried > 0 THEN PERFORM pg_notify('dragoman', sender || ' c' || told); END IF;
    RETURN NEXT;
  END $$;

  -- Removes tasks with all that belongs to them.
  CREATE FUNCTION dragoman.remove(given bigint[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    WITH gone AS (DELETE FROM dragoman.tasks WHERE id = ANY(given) RETURNING scope, state, visibility)
      INSERT INTO dragoman.counts (scope, state, n)
        SELECT scope, state, -count(*) FROM gone WHERE visibility = 1 AND state >= 0 GROUP BY scope, state;
    DELETE FROM dragoman.events WHERE task = ANY(given);
    DELETE FROM dragoman.snapshots WHERE task = ANY(given);
    DELETE FROM dragoman.lanes WHERE task = ANY(given);
    DELETE FROM dragoman.dead_letters WHERE task = ANY(given);
    DELETE FROM dragoman.keys WHERE task = ANY(given);
  END $$;

  -- Puts the changes of each count together, where there are some: the most of them first, and not all at once.
  CREATE FUNCTION dragoman.sum_counts() RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    IF NOT pg_try_advisory_xact_lock(7102026, 2) THEN RETURN; END IF;
    WITH scattered AS (SELECT scope, state FROM dragoman.counts GROUP BY scope, state HAVING count(*) > 1
        ORDER BY count(*) DESC LIMIT 1000),
      gone AS (DELETE FROM dragoman.counts c USING scattered s WHERE c.scope = s.scope AND c.state = s.state
        RETURNING c.scope, c.state, c.n)
      INSERT INTO dragoman.counts (scope, state, n)
        SELECT scope, state, sum(n) FROM gone GROUP BY scope, state HAVING sum(n) <> 0;
  END $$;
  `,
  /* 2 */ `
  -- Readers find the status, the newest messages and the artifacts of a running task without reading the rest of its
  -- log: events.head says which of them a batch holds (see \`batchKinds\`), status_last where the newest status is.
  ALTER TABLE dragoman.tasks ADD COLUMN status_last bigint NOT NULL DEFAULT 0;
  ALTER TABLE dragoman.events ALTER COLUMN head TYPE smallint USING CASE WHEN head THEN 4 ELSE 0 END;

  -- Which parts of a snapshot were too large to be written again and are in the log only.
  ALTER TABLE dragoman.snapshots ADD COLUMN in_log smallint NOT NULL DEFAULT 0;
  `,
  /* 3 */ `
  -- The size of each task, and the part of it that the counts of its scope know.
  ALTER TABLE dragoman.tasks ADD COLUMN bytes bigint NOT NULL DEFAULT 0, ADD COLUMN counted bigint NOT NULL DEFAULT 0;
  UPDATE dragoman.tasks t SET bytes = coalesce(
    (SELECT sum(octet_length(body)) FROM dragoman.events WHERE task = t.id),
    (SELECT octet_length(head) + coalesce(octet_length(artifacts), 0) FROM dragoman.snapshots WHERE task = t.id), 0);
  UPDATE dragoman.tasks SET counted = bytes WHERE visibility = 2 OR (visibility = 1 AND state >= 0);

  -- State -1: Message answers.
  ALTER TABLE dragoman.counts ADD COLUMN bytes bigint NOT NULL DEFAULT 0;
  INSERT INTO dragoman.counts (scope, state, n, bytes)
    SELECT scope, state, 0, sum(counted) FROM dragoman.tasks WHERE visibility = 1 AND state >= 0 GROUP BY scope, state
    UNION ALL SELECT scope, -1, count(*), sum(counted) FROM dragoman.tasks WHERE visibility = 2 GROUP BY scope;
  CREATE INDEX scopes_by_owner ON dragoman.scopes (agent, owner);

  -- Where a task counts; NULL when it does not.
  CREATE FUNCTION dragoman.counted_as(visibility smallint, state smallint) RETURNS smallint LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE WHEN visibility = 1 AND state >= 0 THEN state WHEN visibility = 2 THEN -1::smallint END $$;

  CREATE OR REPLACE FUNCTION dragoman.remove(given bigint[]) RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    WITH gone AS (DELETE FROM dragoman.tasks WHERE id = ANY(given)
        RETURNING scope, dragoman.counted_as(visibility, state) AS place, counted)
      INSERT INTO dragoman.counts (scope, state, n, bytes)
        SELECT scope, place, -count(*), -sum(counted) FROM gone WHERE place IS NOT NULL GROUP BY scope, place;
    DELETE FROM dragoman.events WHERE task = ANY(given);
    DELETE FROM dragoman.snapshots WHERE task = ANY(given);
    DELETE FROM dragoman.lanes WHERE task = ANY(given);
    DELETE FROM dragoman.dead_letters WHERE task = ANY(given);
    DELETE FROM dragoman.keys WHERE task = ANY(given);
  END $$;

  CREATE OR REPLACE FUNCTION dragoman.sum_counts() RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    IF NOT pg_try_advisory_xact_lock(7102026, 2) THEN RETURN; END IF;
    WITH scattered AS (SELECT scope, state FROM dragoman.counts GROUP BY scope, state HAVING count(*) > 1
        ORDER BY count(*) DESC LIMIT 1000),
      gone AS (DELETE FROM dragoman.counts c USING scattered s WHERE c.scope = s.scope AND c.state = s.state
        RETURNING c.scope, c.state, c.n, c.bytes)
      INSERT INTO dragoman.counts (scope, state, n, bytes)
        SELECT scope, state, sum(n), sum(bytes) FROM gone GROUP BY scope, state HAVING sum(n) <> 0 OR sum(bytes) <> 0;
  END $$;

  DROP FUNCTION IF EXISTS dragoman.append;
  ${appendFunction}
  `,
]
