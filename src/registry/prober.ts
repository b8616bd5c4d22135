/**
 * Looks after the instances of a registry in the background: each is probed now and then, sooner when it fails for
 * the first time, ever more rarely when it goes on failing. One process of those that share a store does it, the one
 * that holds the lease for it. What changes somebody's health is written to the log; every result goes to the history.
 */
import type { HealthState, InstanceKey } from '../registry-client/registry-words.js'
import type { Records } from '../stores/records.js'
import {
  collection,
  type HealthDocument,
  instanceId,
  type ProbeReport,
  probeCollection,
  readInstance,
} from './documents.js'
import { isHealthy, type Probe } from './probe.js'

export interface ProbeOptions {
  /** Between two probes of an instance that is well. Default 30 s. */
  readonly intervalMs?: number
  /** After the first failure; doubled with each that follows. Default 5 s. */
  readonly retryMs?: number
  /** The longest pause between probes of an instance that is not well. Default 5 minutes. */
  readonly longestRetryMs?: number
  /** For each level of a probe. Default 5 s. */
  readonly timeoutMs?: number
  /** How many at once. Default 8. */
  readonly concurrency?: number
  /** Failures in a row before an instance is no longer offered. Default 2. */
  readonly failures?: number
  /** Results that are remembered of each instance. Default 20. */
  readonly history?: number
}

export interface ProberParts extends Required<Omit<ProbeOptions, 'timeoutMs'>> {
  readonly records: Records
  readonly probe: Probe
  /** Names this process. */
  readonly owner: string
  now(): number
  random(): number
  onFailure(error: unknown): void
}

interface Patient {
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
  readonly #parts: ProberParts
  readonly #patients = new Map<string, Patient>()
  readonly #running = new Set<Promise<void>>()
  #leaseUntilMs = 0
  #timer: ReturnType<typeof setInterval> | undefined

  constructor(parts: ProberParts) {
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

  async #examine(patient: Patient): Promise<void> {
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
    const { intervalMs, retryMs, longestRetryMs } = this.#parts
    return failures === 0 ? intervalMs : Math.min(longestRetryMs, retryMs * 2 ** (failures - 1))
  }

  async #record(patient: Patient, report: ProbeReport): Promise<void> {
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
export async function readHistory(records: Records, key: InstanceKey): Promise<readonly ProbeReport[]> {
  return ((await records.get(probeCollection, instanceId(key)))?.value as readonly ProbeReport[] | undefined) ?? []
}
