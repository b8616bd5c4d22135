/** The registry without its HTTP routes: publications, reads, watches and health checks on one store. */
import { createGuardedDialer, type GuardedDialer } from '../net/node-dialer.js'
import type { AgentKey, InstanceKey } from '../registry-client/registry-messages.js'
import { requireRecords } from '../stores/complete-store.js'
import type { RecordStore } from '../stores/records.js'
import type { Store } from '../stores/store.js'
import type { HttpAnswer } from '../transports/exchange.js'
import { Heartbeats } from '../transports/sse.js'
import type { CardRules } from './accept-card.js'
import { Catalog } from './catalog.js'
import { collection, type InstanceDocument, type ProbeReport, probeCollection, readInstance } from './documents.js'
import {
  type AgentFilter,
  type FindQuery,
  type FoundAgent,
  type FoundPage,
  findAgent,
  findAgents,
  visitAgents,
} from './finds.js'
import { followLog } from './follow-log.js'
import { createProbe, type ProbeOptions, Prober, readHistory } from './prober.js'
import { createPublications, type Publications } from './publications.js'
import { reachableRecords, readableRecords, reasonOf } from './readable-records.js'
import { defaultRegistryLimits, type RegistryLimits } from './registry-limits.js'
import { EventTail, Watches, type WatchOptions } from './watch.js'
import { type RateCharge, WorkQueue, type WorkShare } from './work-queue.js'

export interface RegistryCoreOptions {
  readonly store: Store
  readonly limits?: Partial<RegistryLimits>
  /** Accepts and probes agents on private networks and on this machine. Default false. */
  readonly allowPrivate?: boolean
  /** Accepts only cards that are `valid` in their version (default), or all `readable` cards. */
  readonly cards?: CardRules['cards']
  /** `require`: cards must be signed with a key of their own origin. Default `record`: signatures are verified and shown. */
  readonly signatures?: CardRules['signatures']
  /** Health checks of instances; `false` disables them, and all instances are offered. */
  readonly probes?: ProbeOptions | false
  /** Interval of heartbeats on watches, in milliseconds. Default 15 s. */
  readonly heartbeatMs?: number
  /** Interval of the search for expired leases, in milliseconds. Default 1 s. */
  readonly sweepMs?: number
  /** Current time in milliseconds since 1970, for tests. */
  readonly now?: () => number
  /** Receives errors that callers must not see. */
  readonly onFailure?: (error: unknown) => void
}

export interface RegistryCore extends Publications {
  /** Finds one agent. Throws `RegistryError` with the code `NOT_FOUND`. */
  find(key: AgentKey, options?: { readonly version?: string; readonly includeUnhealthy?: boolean }): FoundAgent
  /** Finds one page of agents. Without `share`, no caller's rate limit is charged. */
  list(query: FindQuery, share?: WorkShare): Promise<FoundPage>
  /** Calls `visit` for every matching agent. */
  visit(filter: AgentFilter, visit: (found: FoundAgent) => void, share?: WorkShare): Promise<void>
  /** The time slices of one caller's expensive read. */
  share(callerKey: string, rateCharge?: RateCharge): WorkShare
  /** Reads an instance with its card; undefined if it does not exist. */
  read(key: InstanceKey): Promise<InstanceDocument | undefined>
  history(key: InstanceKey): Promise<readonly ProbeReport[]>
  watch(options: WatchOptions): HttpAnswer
  /** Removes expired records. Runs periodically; tests with a manual clock call it. */
  sweep(): Promise<void>
  /** Runs due probes. Runs periodically; tests call it. */
  probeDue(): Promise<void>
  close(): Promise<void>
}

/** Watchers that return within this time continue without a reset. */
const tombstonesMs = 24 * 60 * 60_000
const sweepLimit = 500
const probeTickMs = 500

export async function openRegistry(options: RegistryCoreOptions): Promise<RegistryCore> {
  const { store, allowPrivate = false, cards = 'valid', signatures = 'record', now = Date.now } = options
  const onFailure = (error: unknown) => options.onFailure?.(reasonOf(error))
  const records = reachableRecords(readableRecords(requireRecords(store), onFailure))
  const limits = { ...defaultRegistryLimits, ...options.limits }
  const dialer = createGuardedDialer({ httpsOnly: false, allowPrivate })
  const prober =
    options.probes === false ? undefined : createProber(options.probes ?? {}, { records, dialer, now, onFailure })
  const catalog = new Catalog((key, exists) => prober?.note(key, exists))
  const work = new WorkQueue()
  const tail = new EventTail()
  const log = followLog(
    records,
    collection,
    {
      apply(change) {
        catalog.apply(change)
        tail.append(change)
      },
      reset() {
        catalog.clear()
        tail.clear()
      },
      caughtUp: (revision) => tail.begin(revision),
    },
    (error) => {
      tail.fail(error)
      onFailure(error)
    },
  )
  const closing = new AbortController()

  const heartbeats = new Heartbeats(options.heartbeatMs ?? 15_000)
  const watches = new Watches({ records, tail, limits, heartbeats, onFailure })

  const sweepAll = async () => {
    for (const each of [collection, probeCollection])
      while (
        !closing.signal.aborted &&
        (await records.expire(each, { limit: sweepLimit, tombstonesMs })) >= sweepLimit
      );
    await log.caughtUp()
  }
  let sweeping: Promise<void> | undefined
  const sweep = (): Promise<void> => {
    sweeping ??= sweepAll().finally(() => {
      sweeping = undefined
    })
    return sweeping
  }
  try {
    await log.caughtUp()
  } catch (error) {
    log.stop()
    throw error
  }
  const sweeper = setInterval(() => sweep().catch(onFailure), options.sweepMs ?? 1000)
  sweeper.unref()
  prober?.start(probeTickMs)

  return {
    ...createPublications({ records, catalog, log, rules: { limits, dialer, cards, signatures }, now }),
    find: (key, wanted) => findAgent(catalog, key, wanted),
    list: (query, share = work.share()) => findAgents(catalog, query, share),
    visit: (filter, visit, share = work.share()) => visitAgents(catalog, filter, visit, share),
    share: (callerKey, rateCharge) => work.share(callerKey, rateCharge),
    read: (key) => readInstance(records, key),
    history: (key) => readHistory(records, key),
    watch: (wanted) => watches.open(wanted),
    sweep,
    async probeDue() {
      await prober?.tick()
      await log.caughtUp()
    },
    async close() {
      clearInterval(sweeper)
      closing.abort()
      watches.close()
      log.stop()
      const probing = prober?.stop()
      // Closing the connections ends running probes, also those of agents that do not answer.
      await dialer.close()
      await probing
      await sweeping?.catch(() => undefined) // reported by the caller that started it
    },
  }
}

function createProber(
  options: ProbeOptions,
  deps: { records: RecordStore; dialer: GuardedDialer; now: () => number; onFailure: (error: unknown) => void },
): Prober {
  const { timeoutMs = 5000, ...rest } = options
  return new Prober({
    intervalMs: 30_000,
    retryMs: 5000,
    maxRetryMs: 5 * 60_000,
    concurrency: 8,
    failures: 2,
    history: 20,
    ...rest,
    ...deps,
    probe: createProbe({ dialer: deps.dialer, timeoutMs }),
    owner: crypto.randomUUID(),
    random: Math.random,
  })
}
