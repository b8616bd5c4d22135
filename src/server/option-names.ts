/** The options of `serve`, `createHandler` and ports by name; the compiler keeps the lists complete. */

import { questionStatuses } from '../dialects/invoke/tasks.js'
import { errorProfiles } from '../dialects/v1/errors.js'
import { defaultEngineLimits } from '../engine/limits.js'
import { retentionNames } from '../engine/retention.js'
import { settingNames } from '../engine/setting-names.js'
import { either, type NamesOf, namesIn } from '../model/option-names.js'
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

export const rateLimit = either(['none'], { perSecond: 'limit', burst: 'limit' } satisfies NamesOf<Rate>)

const limits = {
  ...namesIn(defaultEngineLimits),
  ...namesIn(defaultRequestLimits),
  rate: rateLimit,
  failedAuthentication: rateLimit,
} satisfies NamesOf<Limits>

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
export const openStoreOptions = { onNotice: 'function', mustExist: 'boolean' } satisfies NamesOf<OpenStoreOptions>
export const closeOptions = { deadlineMs: true } as const

export const handlerOptions = {
  store: true,
  auth: true,
  publicUrl: true,
  basePath: true,
  allowedHosts: 'strings',
  tenants: true,
  cors: 'strings',
  policy: { tenants: 'function', canAccess: 'function' } satisfies NamesOf<Policy>,
  limits,
  heartbeatMs: true,
  dialects: either(['all'], [{ dialect: true, path: true } satisfies NamesOf<PinnedDialect>]),
  card: true,
  editCard: true,
  protectCard: 'boolean',
  signing: true,
  errors: errorProfiles,
  invokeQuestions: questionStatuses,
  assumeV1: 'boolean',
  retention: retentionNames,
  push: pushNames,
  engine: settingNames,
  wrap: true,
  resolve: true,
  routes: [{ path: true, answer: true, isPublic: 'boolean' } satisfies NamesOf<Route>],
  log: true,
  logCalls: 'boolean',
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
  grpc: 'boolean',
  register: either('string', register),
  metrics: either('boolean', { port: 'port', host: 'string' } satisfies NamesOf<MetricsPort>),
} satisfies NamesOf<ServeOptions>
