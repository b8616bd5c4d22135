/**
 * Looks after the instances of a registry in the background: each is probed now and then, sooner when it fails for
 * the first time, ever more rarely when it goes on failing. One process of those that share a store does it, the one
 * that holds the lease for it. What changes somebody's health is written to the log; every result goes to the history.
 */

import { connect } from '../client/connect.js'
import { resolveCard } from '../client/resolve-card.js'
import type { AgentCard } from '../model/agent-card.js'
import { A2AError, clip, type ErrorCode } from '../model/errors.js'
import type { GuardedDialer } from '../net/node-dialer.js'
import type { HealthState, InstanceKey, ProbeMessage } from '../registry-client/registry-words.js'
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

export interface ProbeOptions {
  /** Between two probes of an instance that is well. Default 30 s. */
  readonly intervalMs?: number
  /** After the first failure; doubled with each that follows. Default 5 s. */
  readonly retryMs?: number
  /** The longest pause between probes of an instance that is not well. Default 5 minutes. */
  readonly maxRetryMs?: number
  /** For each level of a probe. Default 5 s. */
  readonly timeoutMs?: number
  /** How many at once. Default 8. */
  readonly concurrency?: number
  /** Failures in a row before an instance is no longer offered. Default 2. */
  readonly failures?: number
  /** Results that are remembered of each instance. Default 20. */
  readonly history?: number
}

export interface ProberDeps extends Required<Omit<ProbeOptions, 'timeoutMs'>> {
  readonly records: RecordStore
  readonly probe: Probe
  /** Names this process. */
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
/** Health that nobody looked after for so long is not known any more. */
const healthMs = 60 * 60_000

export class Prober {
  readonly #parts: ProberDeps
  readonly #patients = new Map<string, ProbeTarget>()
  readonly #running = new Set<Promise<void>>()
  #leaseUntilMs = 0
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(parts: ProberDeps) {
    this.#parts = parts
  }

  start(everyMs: number): void {
    this.#timer = setInterval(() => this.tick().catch(this.#parts.onFailure), everyMs)
    this.#timer.unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#patients.clear()
    await Promise.allSettled(this.#running)
    if (this.#leaseUntilMs > this.#parts.now()) await this.#parts.records.delete(roles, role)
  }

  /** An instance was published, or is gone. */
  note(key: InstanceKey, isThere: boolean): void {
    const id = instanceId(key)
    const known = this.#patients.get(id)
    if (!isThere) this.#patients.delete(id)
    else if (known) known.dueMs = 0
    else this.#patients.set(id, { key, dueMs: 0, failures: 0 })
  }

  /** Begins the probes that are due, as many as there is room for. Answers when these are done. */
  async tick(): Promise<void> {
    if (this.#patients.size === 0 || !(await this.#takeLead())) return
    const now = this.#parts.now()
    const begun: Promise<void>[] = []
    for (const patient of this.#patients.values()) {
      if (this.#running.size >= this.#parts.concurrency) break
      if (patient.dueMs > now) continue
      patient.dueMs = Number.POSITIVE_INFINITY // until the probe says when
      const probing = this.#examine(patient).catch(this.#parts.onFailure)
      this.#running.add(probing)
      begun.push(probing.finally(() => this.#running.delete(probing)))
    }
    await Promise.all(begun)
  }

  async #takeLead(): Promise<boolean> {
    const { records, owner, now } = this.#parts
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

  async #examine(patient: ProbeTarget): Promise<void> {
    const { probe, records, now, random } = this.#parts
    const startedMs = now()
    let report: ProbeReport
    try {
      const document = await readInstance(records, patient.key)
      if (!document) return
      const levels = await probe(document)
      report = {
        time: new Date(startedMs).toISOString(),
        ms: now() - startedMs,
        isHealthy: isHealthy(levels),
        ...levels,
      }
      patient.failures = report.isHealthy ? 0 : patient.failures + 1
    } finally {
      // Whatever happens here, it is looked at again; never all of them at one time.
      patient.dueMs = now() + this.#pauseMs(patient.failures) * (0.8 + random() * 0.4)
    }
    if (this.#patients.get(instanceId(patient.key)) === patient) await this.#record(patient, report)
  }

  #pauseMs(failures: number): number {
    const { intervalMs, retryMs, maxRetryMs } = this.#parts
    return failures === 0 ? intervalMs : Math.min(maxRetryMs, retryMs * 2 ** (failures - 1))
  }

  async #record(patient: ProbeTarget, report: ProbeReport): Promise<void> {
    const { records, history, failures, now } = this.#parts
    const id = instanceId(patient.key)
    const before = await records.get(probeCollection, id)
    const reports = [report, ...((before?.value as readonly ProbeReport[] | undefined) ?? [])].slice(0, history)
    await records.put(probeCollection, id, reports, { ttlMs: healthMs })
    const healthId = instanceId(patient.key, 'health')
    const known = (await records.get(collection, healthId))?.value as HealthDocument | undefined // written below
    const state: HealthState = report.isHealthy
      ? 'healthy'
      : patient.failures >= failures
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

/** The last results of an instance, newest first. */
export async function readHistory(records: RecordStore, key: InstanceKey): Promise<readonly ProbeReport[]> {
  return ((await records.get(probeCollection, instanceId(key)))?.value as readonly ProbeReport[] | undefined) ?? []
}

export interface ProbeDeps {
  readonly dialer: GuardedDialer
  /** For each level. */
  readonly timeoutMs: number
}

export type Probe = (instance: InstanceDocument) => Promise<ProbeLevels>

export function createProbe({ dialer, timeoutMs }: ProbeDeps): Probe {
  // Every connection goes through the guard, whatever the card has come to say since it was published.
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

/** An agent that asks for credentials before it shows its card has answered. */
function unlessProtected(caught: unknown): void {
  if (caught instanceof A2AError && (caught.code === 'UNAUTHENTICATED' || caught.code === 'PERMISSION_DENIED')) return
  throw caught
}

/** gRPC has no `fetch` to be guarded by, so it is not spoken here; who speaks nothing else is judged by the card. */
function withoutGrpc(instance: InstanceDocument): object | undefined {
  const card = JSON.parse(cardTextOf(instance)) as AgentCard // written by publish
  const others = card.supportedInterfaces.filter(({ protocolBinding }) => protocolBinding.toUpperCase() !== 'GRPC')
  if (others.length === card.supportedInterfaces.length) return JSON.parse(instance.published) as object
  return others.length > 0 ? { ...card, supportedInterfaces: others } : undefined
}

/** A card that cannot be read again is no reason to avoid an agent that answers. */
export function isHealthy({ card, binding, call }: ProbeLevels): boolean {
  return (binding === undefined ? card === 'ok' : binding === 'ok') && (call === undefined || call === 'ok')
}

interface ProbeCallOptions {
  readonly fetch: typeof fetch
  readonly timeoutMs: number
}

/** The dialect has no call that is cheap. */
const notProbed = 'untried'

/** Refusals that only somebody who understood the question can give. */
const understoodCodes: ReadonlySet<ErrorCode> = new Set([
  'TASK_NOT_FOUND',
  'UNAUTHENTICATED',
  'PERMISSION_DENIED',
  'INVALID_PARAMS',
  'RATE_LIMITED',
])

async function probeBinding(card: object, parts: ProbeCallOptions): Promise<string> {
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

async function probeCall(card: object, { text }: ProbeMessage, parts: ProbeCallOptions): Promise<string> {
  const agent = await open(card, parts)
  try {
    const { task } = await agent.ask(text)
    const state = task?.status.state
    return state === 'TASK_STATE_FAILED' || state === 'TASK_STATE_REJECTED' ? `the call ended ${state}` : 'ok'
  } finally {
    await agent.close()
  }
}

function open(card: object, { fetch, timeoutMs }: ProbeCallOptions) {
  return connect(card, { fetch, timeoutMs, retry: { attempts: 1 }, signatures: 'ignore' })
}

async function okOrReason(work: () => Promise<string>): Promise<string> {
  try {
    return await work()
  } catch (caught) {
    return clip(caught instanceof Error ? caught.message : String(caught))
  }
}
