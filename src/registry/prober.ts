/**
 * Checks the health of the instances of a registry in the background. A probe has three levels: the card can be read, the
 * interface answers a cheap call, and a real call succeeds if the publisher gave a probe message. The first failure
 * shortens the interval; further failures lengthen it. Of the processes that share a store, the holder of a lease probes.
 * Changes of health are written to the log, every result to the history.
 */

import { connect } from '../client/connect.js'
import type { CardDocument } from '../client/connect-options.js'
import { resolveCard } from '../client/resolve-card.js'
import type { AgentCard } from '../model/agent-card.js'
import { A2AError, clip, type ErrorCode } from '../model/errors.js'
import type { GuardedDialer } from '../net/node-dialer.js'
import type { HealthState, InstanceKey, ProbeMessage } from '../registry-client/registry-messages.js'
import type { RecordStore } from '../stores/records.js'
import {
  cardTextOf,
  collection,
  type HealthDocument,
  type InstanceDocument,
  instanceId,
  type ProbeLevels,
  type ProbeReport,
  probeCollection,
  readInstance,
} from './documents.js'

/** Settings of the health checks that a registry makes. */
export interface ProbeOptions {
  /** Time between probes of a healthy instance. Default 30 s. */
  readonly intervalMs?: number
  /** Time to the next probe after the first failure; doubles with each further failure. Default 5 s. */
  readonly retryMs?: number
  /** Maximum time between probes of a failing instance. Default 5 minutes. */
  readonly maxRetryMs?: number
  /** Time limit for each level of a probe. Default 5 s. */
  readonly timeoutMs?: number
  /** Maximum number of concurrent probes. Default 8. */
  readonly concurrency?: number
  /** Number of failures in a row that make an instance unhealthy. Default 2. */
  readonly failures?: number
  /** Number of results that are stored for each instance. Default 20. */
  readonly history?: number
}

interface ProberDeps extends Required<Omit<ProbeOptions, 'timeoutMs'>> {
  readonly records: RecordStore
  readonly probe: Probe
  /** Id of this process. */
  readonly owner: string
  now(): number
  random(): number
  onFailure(error: unknown): void
}

interface ProbeTarget {
  readonly key: InstanceKey
  dueMs: number
  failures: number
}

const roles = 'registry-roles'
const role = 'prober'
const leaseMs = 15_000
/** Health records and histories expire if the instance is not probed for this time. */
const healthMs = 60 * 60_000

export class Prober {
  readonly #deps: ProberDeps
  readonly #targets = new Map<string, ProbeTarget>()
  readonly #running = new Set<Promise<void>>()
  #leaseUntilMs = 0
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(deps: ProberDeps) {
    this.#deps = deps
  }

  start(everyMs: number): void {
    this.#timer = setInterval(() => this.tick().catch(this.#deps.onFailure), everyMs)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#targets.clear()
    await Promise.allSettled(this.#running)
    if (this.#leaseUntilMs > this.#deps.now()) await this.#deps.records.delete(roles, role)
  }

  /** Called when an instance was published or removed. */
  note(key: InstanceKey, exists: boolean): void {
    const id = instanceId(key)
    const known = this.#targets.get(id)
    if (!exists) this.#targets.delete(id)
    else if (known) known.dueMs = 0
    else this.#targets.set(id, { key, dueMs: 0, failures: 0 })
  }

  /** Starts due probes up to the concurrency limit, and resolves when they are done. */
  async tick(): Promise<void> {
    if (this.#targets.size === 0 || !(await this.#acquireLease())) return
    const now = this.#deps.now()
    const begun: Promise<void>[] = []
    for (const target of this.#targets.values()) {
      if (this.#running.size >= this.#deps.concurrency) break
      if (target.dueMs > now) continue
      target.dueMs = Number.POSITIVE_INFINITY // set again when the probe ends
      const probing = this.#probe(target).catch(this.#deps.onFailure)
      this.#running.add(probing)
      begun.push(probing.finally(() => this.#running.delete(probing)))
    }
    await Promise.all(begun)
  }

  async #acquireLease(): Promise<boolean> {
    const { records, owner, now } = this.#deps
    if (this.#leaseUntilMs - now() > leaseMs / 2) return true
    const holder = await records.get(roles, role)
    const isOurs = holder?.value === owner
    if (holder && !isOurs) return false
    const outcome = isOurs
      ? await records.renew(roles, role, leaseMs)
      : (await records.put(roles, role, owner, { expect: 0, ttlMs: leaseMs })).result === 'ok'
    this.#leaseUntilMs = outcome ? now() + leaseMs : 0
    return outcome
  }

  async #probe(target: ProbeTarget): Promise<void> {
    const { probe, records, now, random } = this.#deps
    const startedMs = now()
    let report: ProbeReport
    try {
      const document = await readInstance(records, target.key)
      if (!document) return
      const levels = await probe(document)
      report = {
        time: new Date(startedMs).toISOString(),
        ms: now() - startedMs,
        isHealthy: isHealthy(levels),
        ...levels,
      }
      target.failures = report.isHealthy ? 0 : target.failures + 1
    } finally {
      // Jitter spreads the probes of instances that were published together.
      target.dueMs = now() + this.#pauseMs(target.failures) * (0.8 + random() * 0.4)
    }
    if (this.#targets.get(instanceId(target.key)) === target) await this.#record(target, report)
  }

  #pauseMs(failures: number): number {
    const { intervalMs, retryMs, maxRetryMs } = this.#deps
    return failures === 0 ? intervalMs : Math.min(maxRetryMs, retryMs * 2 ** (failures - 1))
  }

  async #record(target: ProbeTarget, report: ProbeReport): Promise<void> {
    const { records, history, failures, now } = this.#deps
    const id = instanceId(target.key)
    const before = await records.get(probeCollection, id)
    const reports = [report, ...((before?.value as readonly ProbeReport[] | undefined) ?? [])].slice(0, history)
    await records.put(probeCollection, id, reports, { ttlMs: healthMs })
    const healthId = instanceId(target.key, 'health')
    const known = (await records.get(collection, healthId))?.value as HealthDocument | undefined // written below
    const state: HealthState = report.isHealthy
      ? 'healthy'
      : target.failures >= failures
        ? 'unhealthy'
        : (known?.state ?? 'unknown')
    if (known?.state === state) {
      await records.renew(collection, healthId, healthMs)
      return
    }
    const { card, binding, call } = report
    const levels = { card, ...(binding !== undefined && { binding }), ...(call !== undefined && { call }) }
    const health: HealthDocument = { state, sinceMs: now(), levels }
    await records.put(collection, healthId, health, { ttlMs: healthMs })
  }
}

/** Stored results of an instance, newest first. */
export async function readHistory(records: RecordStore, key: InstanceKey): Promise<readonly ProbeReport[]> {
  return ((await records.get(probeCollection, instanceId(key)))?.value as readonly ProbeReport[] | undefined) ?? []
}

interface ProbeDeps {
  readonly dialer: GuardedDialer
  /** Time limit for each level. */
  readonly timeoutMs: number
}

export type Probe = (instance: InstanceDocument) => Promise<ProbeLevels>

export function createProbe({ dialer, timeoutMs }: ProbeDeps): Probe {
  // All connections use the guarded dialer, because the card may have changed since it was checked.
  const fetch = dialer.fetch as typeof globalThis.fetch
  return async (instance) => {
    const { url, probe } = instance
    const card = await okOrReason(async () => {
      await resolveCard(url, { fetch, timeoutMs, allowPrivate: true }).catch(unlessProtected)
      return 'ok'
    })
    const callable = withoutGrpc(instance)
    const binding = callable && (await okOrReason(() => probeBinding(callable, { fetch, timeoutMs })))
    const call =
      callable && probe && binding === 'ok'
        ? await okOrReason(() => probeCall(callable, probe, { fetch, timeoutMs }))
        : undefined
    return {
      card,
      ...(binding !== undefined && binding !== notProbed && { binding }),
      ...(call !== undefined && { call }),
    }
  }
}

/** A card that requires credentials counts as readable. */
function unlessProtected(caught: unknown): void {
  if (caught instanceof A2AError && (caught.code === 'UNAUTHENTICATED' || caught.code === 'PERMISSION_DENIED')) return
  throw caught
}

/** gRPC does not use the guarded dialer, so it is not probed. Agents with gRPC only are judged by their card. */
function withoutGrpc(instance: InstanceDocument): CardDocument | undefined {
  const card = JSON.parse(cardTextOf(instance)) as AgentCard // written by publish
  const others = card.supportedInterfaces.filter(({ protocolBinding }) => protocolBinding.toUpperCase() !== 'GRPC')
  if (others.length === card.supportedInterfaces.length) return JSON.parse(instance.published) as CardDocument
  return others.length > 0 ? { ...card, supportedInterfaces: others } : undefined
}

/** The card counts only if the interface was not probed. */
export function isHealthy({ card, binding, call }: ProbeLevels): boolean {
  return (binding === undefined ? card === 'ok' : binding === 'ok') && (call === undefined || call === 'ok')
}

interface ProbeCallOptions {
  readonly fetch: typeof fetch
  readonly timeoutMs: number
}

/** The dialect has no cheap call. */
const notProbed = 'untried'

/** Errors that show that the agent understood the call. */
const understoodCodes: ReadonlySet<ErrorCode> = new Set([
  'TASK_NOT_FOUND',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'INVALID_PARAMS',
  'RATE_LIMITED',
])

async function probeBinding(card: CardDocument, parts: ProbeCallOptions): Promise<string> {
  const agent = await open(card, parts)
  try {
    await agent.getTask({ id: crypto.randomUUID() })
    return 'ok'
  } catch (caught) {
    if (!(caught instanceof A2AError)) throw caught
    if (caught.code === 'UNSUPPORTED_OPERATION') return notProbed
    if (understoodCodes.has(caught.code)) return 'ok'
    throw caught
  } finally {
    await agent.close()
  }
}

async function probeCall(card: CardDocument, { text }: ProbeMessage, parts: ProbeCallOptions): Promise<string> {
  const agent = await open(card, parts)
  try {
    const { task } = await agent.ask(text)
    const state = task?.status.state
    return state === 'TASK_STATE_FAILED' || state === 'TASK_STATE_REJECTED' ? `the call ended ${state}` : 'ok'
  } finally {
    await agent.close()
  }
}

function open(card: CardDocument, { fetch, timeoutMs }: ProbeCallOptions) {
  return connect(card, { fetch, timeoutMs, retry: { attempts: 1 }, signatures: 'ignore' })
}

async function okOrReason(work: () => Promise<string>): Promise<string> {
  try {
    return await work()
  } catch (caught) {
    return clip(caught instanceof Error ? caught.message : String(caught))
  }
}
