/** The options of `serve`, `createHandler` and ports by name; the compiler keeps the lists complete. */

import type { EngineSettings } from '../engine/internals.js'
import { defaultEngineLimits } from '../engine/limits.js'
import { retentionNames } from '../engine/retention.js'
import { type NamesOf, namesIn } from '../model/option-names.js'
import { pushNames } from '../push/create-push.js'
import { defaultRequestLimits } from '../transports/read-json.js'
import type { RegisterOptions } from './announce.js'
import type { PortOptions } from './bind.js'
import type { ConnectionLimits } from './connection-limits.js'
import type { HandlerOptions } from './handler.js'
import type { Limits } from './limits.js'
import type { Deadlines } from './listener.js'
import type { MetricsPort } from './metrics.js'
import type { MountedAgent } from './mounts.js'
import type { PinnedDialect } from './offered-dialects.js'
import type { OpenStoreOptions } from './open-store.js'
import type { Policy } from './policy.js'
import type { Rate } from './rate-limit.js'
import type { Route } from './routes.js'
import type { ServedAgent, ServeOptions } from './serve.js'

export const rate = { perSecond: true, burst: true } satisfies NamesOf<Rate>

const limits = {
  ...namesIn(defaultEngineLimits),
  ...namesIn(defaultRequestLimits),
  rate,
  failedAuthentication: rate,
} satisfies NamesOf<Limits>

const engine = {
  leaseMs: true,
  cancelGraceMs: true,
  idempotencyMs: true,
  dedupeByMessageId: true,
  cancelTwice: true,
  pushSecrets: true,
  stallMs: true,
} satisfies NamesOf<Omit<EngineSettings, 'limits'>>

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
  probe: { text: true },
} satisfies NamesOf<RegisterOptions>

export const mountedAgent = { agent: true, path: true } satisfies NamesOf<MountedAgent>
export const servedAgent = { ...mountedAgent, port: true } satisfies NamesOf<ServedAgent>
export const openStoreOptions = { onNotice: true, mustExist: true } satisfies NamesOf<OpenStoreOptions>
export const closeOptions = { deadlineMs: true } as const

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
  dialects: [{ dialect: true, path: true } satisfies NamesOf<PinnedDialect>],
  card: true,
  editCard: true,
  protectCard: true,
  signing: true,
  errors: true,
  invokeQuestions: true,
  assumeV1: true,
  retention: retentionNames,
  push: pushNames,
  engine,
  wrap: true,
  resolve: true,
  routes: [{ path: true, answer: true, isPublic: true } satisfies NamesOf<Route>],
  log: true,
  logCalls: true,
  audit: true,
} satisfies NamesOf<HandlerOptions>

export const portOptions = {
  port: true,
  host: true,
  auth: true,
  deadlines,
  connections: { max: true, maxPerAddress: true } satisfies NamesOf<ConnectionLimits>,
  // As `node:tls` takes it.
  tls: true,
} satisfies NamesOf<PortOptions>

export const serveOptions = {
  ...portOptions,
  ...handlerOptions,
  grpc: true,
  register,
  metrics: { port: true, host: true } satisfies NamesOf<MetricsPort>,
} satisfies NamesOf<ServeOptions>
