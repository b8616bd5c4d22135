/** Exports the metrics of a server: to the application's own SDK, or to a page for Prometheus. */
import type { Meter } from '@opentelemetry/api'
import type { Log } from '../model/log.js'
import { loadTelemetry } from '../telemetry/api.js'
import { applicationMeter } from '../telemetry/metrics.js'
import { closePort, type GuardedPort, isLoopback, listen } from './bind.js'
import { FetchExchange } from './fetch.js'
import { type HostCheck, hostFault } from './hosts.js'
import { createListener } from './listener.js'
import { toNodeListener } from './node.js'
import type { Route } from './routes.js'

/** A separate port for metrics, without authentication. */
export interface MetricsPort {
  /** Default 0: any free port. */
  readonly port?: number
  /** Default 127.0.0.1. */
  readonly host?: string
}

export interface ServerMetrics {
  /** Absent unless metrics are configured. */
  readonly meter?: Meter
  /** Routes on the agents' ports; they require the agents' authentication. */
  readonly routes: readonly Route[]
  /** Address of the page, if metrics have a port of their own. */
  readonly url?: string
  close(): Promise<void>
}

const isDone = async () => undefined

export async function openMetrics(
  asked: boolean | MetricsPort,
  log: Log | undefined,
  isOwnHost: HostCheck,
): Promise<ServerMetrics> {
  await loadTelemetry()
  const meter = applicationMeter()
  if (asked === false) return { ...(meter && { meter }), routes: [], close: isDone }
  if (meter) {
    const message = 'An OpenTelemetry SDK is registered: metrics go there, and are not shown at /metrics'
    log?.({ level: 'info', message })
    return { meter, routes: [], close: isDone }
  }
  const { createPrometheus } = await import('../telemetry/prometheus.js')
  const { meter: own, text, close } = createPrometheus()
  const answer = (request: Request) => showMetrics(request, text)
  if (asked === true) return { meter: own, routes: [{ path: '/metrics', answer }], close }
  const nothing = async () => new Response(null, { status: 404 })
  const fetch = async (request: Request) => {
    const fault = isLoopback(asked.host) ? hostFault(new FetchExchange(request), isOwnHost) : undefined
    if (fault !== undefined) return new Response(fault, { status: 403 })
    return await (new URL(request.url).pathname === '/metrics' ? answer(request) : nothing())
  }
  const listener = createListener(toNodeListener({ fetch }))
  const base = await listen(listener, asked)
  return {
    meter: own,
    routes: [],
    url: `${base}/metrics`,
    close: () => closePort(listener, close),
  }
}

async function showMetrics({ method }: Request, text: () => Promise<string>): Promise<Response> {
  if (method !== 'GET' && method !== 'HEAD') return new Response(null, { status: 405, headers: { allow: 'GET, HEAD' } })
  const headers = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8', 'cache-control': 'no-store' }
  return new Response(method === 'HEAD' ? null : await text(), { headers })
}

/** Metrics on the agents' port need `auth`, unless the port is on loopback. */
export function assertGuardedMetrics(metrics: boolean | MetricsPort, { host, auth }: GuardedPort): void {
  if (metrics !== true || auth !== 'none' || isLoopback(host)) return
  throw new TypeError(`Metrics on ${host} are public without \`auth\`: give \`metrics\` a port of its own`)
}
