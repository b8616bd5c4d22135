/** The options of `serve` and `createHandler` by name; the compiler keeps the lists complete. */

import type { EngineSettings } from '../engine/internals.js'
import { defaultEngineLimits } from '../engine/limits.js'
import type { Retention } from '../engine/retention.js'
import { type NamesOf, namesIn } from '../model/option-names.js'
import type { PushOptions } from '../push/create-push.js'
import { defaultSettings } from '../push/push-settings.js'
import { defaultRequestLimits } from '../transports/read-json.js'
import type { RegisterOptions } from './announce.js'
import type { ConnectionLimits } from './connection-limits.js'
import type { HandlerOptions } from './handler.js'
import type { Limits } from './limits.js'
import type { Deadlines } from './listener.js'
import type { MetricsPort } from './metrics.js'
import type { Policy } from './policy.js'
import type { ServeOptions } from './serve.js'

const limits = {
  ...namesIn(defaultEngineLimits),
  ...namesIn(defaultRequestLimits),
  rate: true,
  failedAuthentication: true,
} satisfies NamesOf<Limits>

const push = {
  ...namesIn(defaultSettings),
  httpsOnly: true,
  allowHosts: true,
  allowPorts: true,
  allowPrivate: true,
  lookup: true,
  challenge: true,
  tls: true,
} satisfies NamesOf<PushOptions>

const engine = {
  leaseMs: true,
  cancelGraceMs: true,
  idempotencyMs: true,
  dedupeByMessageId: true,
  cancelTwice: true,
  pushSecrets: true,
  stallMs: true,
} satisfies NamesOf<Omit<EngineSettings, 'limits'>>

const retention = {
  endedTasksMs: true,
  maxEndedTasks: true,
  endedEventsMs: true,
  sweepMs: true,
} satisfies NamesOf<Retention>

const deadlines = {
  firstByteMs: true,
  headersMs: true,
  bodyMs: true,
  readMs: true,
  minReadRate: true,
} satisfies NamesOf<Deadlines>

const register = {
  url: true,
  namespace: true,
  tags: true,
  headers: true,
  ttlSeconds: true,
  address: true,
  probe: true,
} satisfies NamesOf<RegisterOptions>

export const handlerOptions = {
  store: true,
  auth: true,
  publicUrl: true,
  basePath: true,
  allowedHosts: true,
  tenants: true,
  cors: true,
  policy: { tenants: true, canAccess: true } satisfies NamesOf<Policy>,
  limits,
  heartbeatMs: true,
  dialects: true,
  card: true,
  editCard: true,
  protectCard: true,
  signing: true,
  errors: true,
  invokeQuestions: true,
  assumeV1: true,
  retention,
  push,
  engine,
  wrap: true,
  resolve: true,
  routes: true,
  log: true,
  logCalls: true,
  audit: true,
} satisfies NamesOf<HandlerOptions>

export const serveOptions = {
  port: true,
  host: true,
  ...handlerOptions,
  deadlines,
  connections: { max: true, maxPerAddress: true } satisfies NamesOf<ConnectionLimits>,
  tls: true,
  grpc: true,
  register,
  metrics: { port: true, host: true } satisfies NamesOf<MetricsPort>,
} satisfies NamesOf<ServeOptions>
