/**
 * `dragoman.append`: appends steps of many tasks in one round trip and one transaction, and accepts or refuses each step
 * separately. A refused step writes nothing. The newest migration that changed the function creates it. After a release, a change
 * needs a new migration step (`migrations.test.ts` has a hash of every step).
 *
 * Every array has one element per step. The caller passes each task and each idempotency key once, and orders the steps the same
 * way in every replica, creations first. The function takes keys in an order of their own, after it has locked all tasks. So
 * calls of several replicas cannot deadlock. It works on all steps at once where possible: one statement
 * per step and kind was half the cost.
 *
 * It does not notify. NOTIFY holds a lock of the whole server until the commit is on disk, so writers would be serialised; the
 * caller notifies after the commit (`notifier.ts`).
 */
import { countStep } from '../rows.js'

export const appendFunction = `
  CREATE FUNCTION dragoman.append(
    agents int[], task_ids text[], expected bigint[], counts_of int[], scopes int[],
    contexts text[], dialects text[], fences bigint[], visibilities smallint[], states smallint[],
    status_times bigint[], lease_kinds smallint[], lease_owners text[], lease_ttls bigint[], runnables boolean[],
    heads smallint[], times bigint[], bodies text[], sizes bigint[], snapshot_heads text[], snapshot_artifacts text[],
    snapshots_in_log smallint[],
    keys text[], digests text[], key_ttls bigint[], config_ids text[], config_bodies text[], config_sames text[],
    config_mosts int[])
  RETURNS TABLE (place int, outcome text, new_fence bigint, has_lanes boolean, is_free boolean) LANGUAGE plpgsql AS $$
  DECLARE
    now_is bigint := dragoman.now_ms();
    size int := cardinality(agents);
    creations int := size - cardinality(array_positions(scopes, NULL));
    n int;
    taken int;
    created int := 0;
    t record;
    last_seq bigint;
    next_visibility smallint;
    next_state smallint;
    next_runnable boolean;
    next_bytes bigint;
    is_counted boolean;
    -- Where the task counts: see \`countedAs\`.
    counted_from smallint;
    counted_to smallint;
    -- Of each step: what became of it, and of its task.
    outcomes text[] := array_fill(NULL::text, ARRAY[size]);
    tasks bigint[] := array_fill(NULL::bigint, ARRAY[size]);
    task_scopes int[] := scopes;
    new_fences bigint[] := array_fill(0::bigint, ARRAY[size]);
    lanes_of int[] := array_fill(0, ARRAY[size]);
    are_free boolean[] := array_fill(false, ARRAY[size]);
    changed_scopes int[] := '{}';
    changed_states smallint[] := '{}';
    changes int[] := '{}';
    changed_bytes bigint[] := '{}';
    has_keys boolean := cardinality(array_positions(keys, NULL)) < size;
    has_configs boolean := cardinality(array_positions(config_ids, NULL)) < size;
  BEGIN
    IF has_keys THEN
      FOR n IN 1..creations LOOP
        IF keys[n] IS NOT NULL AND EXISTS (SELECT FROM dragoman.keys k
            WHERE k.scope = scopes[n] AND k.key = keys[n] AND k.until_ms > now_is) THEN
          outcomes[n] := 'key-taken';
        END IF;
      END LOOP;
    END IF;

    IF creations > 0 THEN
      FOR t IN
        INSERT INTO dragoman.tasks AS x (agent, scope, task_id, context, dialect, visibility, state, runnable, seq,
            status_ms, status_last, ended_ms, fence, lease_owner, lease_until, bytes, counted)
          SELECT s.agent, s.scope, s.task_id, s.context, s.dialect, coalesce(s.visibility, 0), coalesce(s.state, -1),
            coalesce(s.runnable, false), s.expect + s.count, coalesce(s.status_ms, 0),
            CASE WHEN s.state IS NULL THEN 0 ELSE s.expect + s.count END,
            CASE WHEN s.visibility = 1 AND s.state IN (2, 3, 4, 6) THEN now_is END,
            CASE WHEN s.lease_kind = 1 THEN 1 ELSE 0 END,
            CASE WHEN s.lease_kind = 1 THEN s.lease_owner END,
            CASE WHEN s.lease_kind = 1 THEN now_is + s.lease_ttl ELSE 0 END, coalesce(s.size, 0),
            CASE WHEN dragoman.counted_as(s.visibility, s.state) IS NULL THEN 0 ELSE coalesce(s.size, 0) END
          FROM unnest(agents, scopes, task_ids, contexts, dialects, visibilities, states, runnables, expected, counts_of,
              status_times, lease_kinds, lease_owners, lease_ttls, outcomes, sizes)
            AS s (agent, scope, task_id, context, dialect, visibility, state, runnable, expect, count, status_ms,
              lease_kind, lease_owner, lease_ttl, outcome, size)
          WHERE s.scope IS NOT NULL AND s.outcome IS NULL
          ON CONFLICT DO NOTHING
          RETURNING x.id, x.agent, x.task_id, x.visibility, x.state, x.fence, x.runnable, x.counted
      LOOP
        -- Which step was it? As a rule the next one; those that are missing were there before. Round and round, so
        -- that no order has to be relied on.
        LOOP
          created := created % creations + 1;
          EXIT WHEN task_ids[created] = t.task_id AND agents[created] = t.agent;
        END LOOP;
        n := created;
        outcomes[n] := 'ok';
        tasks[n] := t.id;
        new_fences[n] := t.fence;
        are_free[n] := t.runnable AND lease_kinds[n] IS DISTINCT FROM 1;
        counted_to := dragoman.counted_as(t.visibility, t.state);
        IF counted_to IS NOT NULL THEN
          changed_scopes := array_append(changed_scopes, scopes[n]);
          changed_states := array_append(changed_states, counted_to);
          changes := array_append(changes, 1);
          changed_bytes := array_append(changed_bytes, t.counted);
        END IF;
      END LOOP;
    END IF;

    FOR n IN creations + 1..size LOOP
      SELECT x.id, x.scope, x.visibility, x.seq, x.state, x.fence, x.lease_owner, x.lease_until, x.runnable, x.status_ms,
          x.status_last, x.bytes, x.counted, x.ended_ms, x.lanes
        INTO t FROM dragoman.tasks x WHERE x.agent = agents[n] AND x.task_id = task_ids[n] FOR NO KEY UPDATE;
      IF t.id IS NULL THEN
        outcomes[n] := CASE WHEN fences[n] IS NULL THEN 'conflict' ELSE 'fenced' END; CONTINUE;
      END IF;
      IF fences[n] IS NOT NULL AND fences[n] <> t.fence THEN outcomes[n] := 'fenced'; CONTINUE; END IF;
      IF t.seq <> expected[n] OR (lease_kinds[n] = 1 AND t.lease_until > now_is) THEN CONTINUE; END IF;
      IF keys[n] IS NOT NULL AND EXISTS (SELECT FROM dragoman.keys k
          WHERE k.scope = t.scope AND k.key = keys[n] AND k.until_ms > now_is) THEN
        outcomes[n] := 'key-taken'; CONTINUE;
      END IF;
      next_visibility := coalesce(visibilities[n], t.visibility);
      next_state := coalesce(states[n], t.state);
      next_runnable := coalesce(runnables[n], t.runnable);
      next_bytes := t.bytes + coalesce(sizes[n], 0);
      counted_from := dragoman.counted_as(t.visibility, t.state);
      counted_to := dragoman.counted_as(next_visibility, next_state);
      is_counted := counted_from IS DISTINCT FROM counted_to
        OR (counted_to IS NOT NULL AND next_bytes - t.counted >= ${countStep});
      outcomes[n] := 'ok';
      tasks[n] := t.id;
      task_scopes[n] := t.scope;
      lanes_of[n] := t.lanes;
      new_fences[n] := CASE WHEN lease_kinds[n] = 1 THEN t.fence + 1 ELSE t.fence END;
      are_free[n] := next_runnable AND (lease_kinds[n] = 2 OR (lease_kinds[n] IS NULL AND t.lease_until <= now_is));
      UPDATE dragoman.tasks SET seq = expected[n] + counts_of[n], visibility = next_visibility, state = next_state,
          runnable = next_runnable, status_ms = coalesce(status_times[n], t.status_ms), fence = new_fences[n],
          bytes = next_bytes,
          counted = CASE WHEN NOT is_counted THEN t.counted WHEN counted_to IS NULL THEN 0 ELSE next_bytes END,
          status_last = CASE WHEN states[n] IS NULL THEN t.status_last ELSE expected[n] + counts_of[n] END,
          ended_ms = CASE WHEN next_visibility = 1 AND next_state IN (2, 3, 4, 6) THEN coalesce(t.ended_ms, now_is) END,
          lease_owner = CASE lease_kinds[n] WHEN 1 THEN lease_owners[n] WHEN 2 THEN NULL ELSE t.lease_owner END,
          lease_until = CASE lease_kinds[n] WHEN 1 THEN now_is + lease_ttls[n] WHEN 2 THEN 0 ELSE t.lease_until END
        WHERE id = t.id;
      IF is_counted THEN
        IF counted_from IS NOT NULL THEN
          changed_scopes := array_append(changed_scopes, t.scope);
          changed_states := array_append(changed_states, counted_from);
          changes := array_append(changes, -1);
          changed_bytes := array_append(changed_bytes, -t.counted);
        END IF;
        IF counted_to IS NOT NULL THEN
          changed_scopes := array_append(changed_scopes, t.scope);
          changed_states := array_append(changed_states, counted_to);
          changes := array_append(changes, 1);
          changed_bytes := array_append(changed_bytes, next_bytes);
        END IF;
      END IF;
    END LOOP;

    INSERT INTO dragoman.events (task, head, first, last, time_ms, body)
      SELECT s.task, s.head, s.expect + 1, s.expect + s.count, s.time_ms, s.body
      FROM unnest(tasks, heads, expected, counts_of, times, bodies) AS s (task, head, expect, count, time_ms, body)
      WHERE s.task IS NOT NULL AND s.count > 0;
    INSERT INTO dragoman.snapshots (task, head, artifacts, in_log)
      SELECT s.task, s.head, s.artifacts, s.in_log
      FROM unnest(tasks, snapshot_heads, snapshot_artifacts, snapshots_in_log) AS s (task, head, artifacts, in_log)
      WHERE s.task IS NOT NULL AND s.head IS NOT NULL
      ON CONFLICT (task) DO UPDATE SET head = excluded.head, artifacts = excluded.artifacts, in_log = excluded.in_log;
    INSERT INTO dragoman.counts (scope, state, n, bytes)
      SELECT c.scope, c.state, sum(c.n), sum(c.bytes)
        FROM unnest(changed_scopes, changed_states, changes, changed_bytes) AS c (scope, state, n, bytes)
        GROUP BY c.scope, c.state HAVING sum(c.n) <> 0 OR sum(c.bytes) <> 0;

    IF has_keys THEN
      -- Somebody may take a key at this very moment: whoever comes second gives up all that it has done so far.
      INSERT INTO dragoman.keys AS k (scope, key, task, digest, seq, until_ms)
        SELECT s.scope, s.key, s.task, s.digest, s.expect + 1, now_is + s.ttl
        FROM unnest(tasks, task_scopes, keys, digests, expected, key_ttls) AS s (task, scope, key, digest, expect, ttl)
        WHERE s.task IS NOT NULL AND s.key IS NOT NULL
        ORDER BY s.scope, s.key COLLATE "C"
        ON CONFLICT (scope, key) DO UPDATE SET task = excluded.task, digest = excluded.digest, seq = excluded.seq,
          until_ms = excluded.until_ms WHERE k.until_ms <= now_is;
      GET DIAGNOSTICS taken = ROW_COUNT;
      IF taken < (SELECT count(*) FROM unnest(tasks, keys) AS s (task, key)
          WHERE s.task IS NOT NULL AND s.key IS NOT NULL) THEN
        RAISE EXCEPTION 'an idempotency key was taken' USING ERRCODE = 'DGM01';
      END IF;
    END IF;

    FOR n IN 1..size LOOP
      place := n;
      outcome := coalesce(outcomes[n], 'conflict');
      new_fence := new_fences[n];
      has_lanes := false;
      is_free := are_free[n];
      IF outcome = 'ok' THEN
        last_seq := expected[n] + counts_of[n];
        IF has_configs AND config_ids[n] IS NOT NULL THEN
          PERFORM dragoman.put_lane(tasks[n], agents[n], config_ids[n], config_bodies[n], config_sames[n],
            config_mosts[n], last_seq, expected[n]);
          lanes_of[n] := lanes_of[n] + 1;
          has_lanes := true;
        END IF;
        IF lanes_of[n] > 0 AND counts_of[n] > 0 THEN
          UPDATE dragoman.lanes SET due_ms = now_is WHERE task = tasks[n] AND due_ms IS NULL;
          has_lanes := has_lanes OR FOUND;
        END IF;
      END IF;
      RETURN NEXT;
    END LOOP;
  END $$;
`
