/** The registry itself, without a door: what is published, found, watched and looked after, on one store. */
import { createGuardedDialer, type GuardedDialer } from '../net/node-dialer.js'
import type { AgentKey, InstanceKey } from '../registry-client/registry-words.js'
import { completeStore } from '../stores/complete-store.js'
import type { RecordStore } from '../stores/records.js'
import type { Store } from '../stores/store.js'
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
  /** Agents on private networks and on this machine may be published, and are probed. Default false. */
  readonly allowPrivate?: boolean
  /** Which cards are taken: those that are `valid` by the rules of their version (default), or all that are `readable`. */
  readonly cards?: CardRules['cards']
  /** Whether cards must be signed by a key that their own origin publishes. Default `record`. */
  readonly signatures?: CardRules['signatures']
  /** How instances are looked after; `false`: not at all, and all are offered. */
  readonly probes?: ProbeOptions | false
  /** Between comments on watches that are silent. Default 15 s. */
  readonly heartbeatMs?: number
  /** How often leases that have run out are looked for. Default 1 s. */
  readonly sweepMs?: number
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** Where things go that no caller may see. */
  readonly onFailure?: (error: unknown) => void
}

export interface RegistryCore extends Publications {
  find(key: AgentKey, options?: { readonly version?: string; readonly includeUnhealthy?: boolean }): FoundAgent
  /** One page of agents. Without a `share` the work is charged to no caller. */
  list(query: FindQuery, share?: WorkShare): Promise<FoundPage>
  /** Calls `visit` for every agent that matches. */
  visit(filter: AgentFilter, visit: (found: FoundAgent) => void, share?: WorkShare): Promise<void>
  /** A caller's turns to look at many agents. */
  share(callerKey: string, rateCharge?: RateCharge): WorkShare
  /** The cards of an instance; absent when it is gone. */
  read(key: InstanceKey): Promise<InstanceDocument | undefined>
  history(key: InstanceKey): Promise<readonly ProbeReport[]>
  watch(options: WatchOptions): Response
  /** Removes what has run out. Happens by itself; tests whose clock stands still call it. */
  sweep(): Promise<void>
  /** Probes what is due. Happens by itself, likewise. */
  probeDue(): Promise<void>
  close(): Promise<void>
}

/** A reader that comes back within a day goes on where it was. */
const tombstonesMs = 24 * 60 * 60_000
const sweepLimit = 500
const probeTickMs = 500

export async function openRegistry(options: RegistryCoreOptions): Promise<RegistryCore> {
  const { store, allowPrivate = false, cards = 'valid', signatures = 'record', now = Date.now } = options
  const onFailure = (error: unknown) => options.onFailure?.(reasonOf(error))
  const records = reachableRecords(readableRecords(completeStore(store).records, onFailure))
  const limits = { ...defaultRegistryLimits, ...options.limits }
  const dialer = createGuardedDialer({ httpsOnly: false, allowPrivate })
  const prober =
    options.probes === false ? undefined : createProber(options.probes ?? {}, { records, dialer, now, onFailure })
  const catalog = new Catalog((key, isThere) => prober?.note(key, isThere))
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
      // Probes under way end with their connections: nobody waits for an agent that hangs.
      await dialer.close()
      await probing
      await sweeping?.catch(() => undefined) // whoever began it is told
    },
  }
}

function createProber(
  options: ProbeOptions,
  parts: { records: RecordStore; dialer: GuardedDialer; now: () => number; onFailure: (error: unknown) => void },
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
    ...parts,
    probe: createProbe({ dialer: parts.dialer, timeoutMs }),
    owner: crypto.randomUUID(),
    random: Math.random,
  })
}
