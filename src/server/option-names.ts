/** The options of `serve`, `createHandler` and ports by name; the compiler keeps the lists complete. */

import { errorProfiles, type PinnedDialect, questionStatuses } from '../dialects/servers.js'
import { defaultEngineLimits } from '../engine/limits.js'
import { retentionNames, settingNames } from '../engine/settings.js'
import { either, type NamesOf, namesIn } from '../model/option-names.js'
import { pushNames } from '../push/create-push.js'
import { storeKind } from '../stores/store-kind.js'
import { defaultRequestLimits } from '../transports/read-json.js'
import type { RegisterOptions } from './announce.js'
import type { PortOptions } from './bind.js'
import { cardForms } from './card-forms.js'
import type { ConnectionLimits } from './connection-limits.js'
import type { HandlerOptions } from './handler.js'
import type { Limits } from './limits.js'
import type { Deadlines } from './listener.js'
import type { MetricsPort } from './metrics.js'
import type { MountedAgent } from './mounts.js'
import type { OpenStoreOptions } from './open-store.js'
import type { Policy } from './policy.js'
import type { Rate } from './rate-limit.js'
import type { Route } from './routes.js'
import type { ServedAgent, ServeOptions } from './serve.js'

/** A store, or its address. */
export const storeOption = either('string', storeKind).withExample(
  "a store, such as `new MemoryStore()`, or an address, such as 'sqlite:tasks.sqlite'",
)

export const rateLimit = either(['none'], { perSecond: 'limit', burst: 'limit' } satisfies NamesOf<Rate>)

const limits = {
  ...namesIn(defaultEngineLimits),
  ...namesIn(defaultRequestLimits),
  rate: rateLimit,
  failedAuthentication: rateLimit,
} satisfies NamesOf<Limits>

const deadlines = {
  firstByteMs: 'number',
  headersMs: 'number',
  bodyMs: 'number',
  readMs: 'number',
  minReadRate: 'number',
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
export const servedAgent = { ...mountedAgent, port: 'port' } satisfies NamesOf<ServedAgent>
export const openStoreOptions = { onNotice: 'function', mustExist: 'boolean' } satisfies NamesOf<OpenStoreOptions>
export const closeOptions = { deadlineMs: 'number' } as const

export const handlerOptions = {
  store: storeOption,
  auth: true,
  publicUrl: true,
  basePath: true,
  allowedHosts: true,
  tenants: 'strings',
  cors: true,
  policy: { tenants: 'function', canAccess: 'function' } satisfies NamesOf<Policy>,
  limits,
  heartbeatMs: 'number',
  dialects: either(['all'], [{ dialect: true, path: true } satisfies NamesOf<PinnedDialect>]).withExample(
    "'all', or a list: ['v1']",
  ),
  card: cardForms,
  editCard: 'function',
  protectCard: 'boolean',
  signing: true,
  errors: errorProfiles,
  invokeQuestions: questionStatuses,
  assumeV1: 'boolean',
  retention: retentionNames,
  push: pushNames,
  engine: settingNames,
  wrap: 'function',
  resolve: 'function',
  routes: [{ path: true, answer: true, isPublic: 'boolean' } satisfies NamesOf<Route>],
  log: either('function', 'false'),
  logCalls: 'boolean',
  audit: 'function',
} satisfies NamesOf<HandlerOptions>

export const portOptions = {
  port: 'port',
  host: 'string',
  auth: true,
  deadlines,
  connections: { max: 'limit', maxPerAddress: 'limit' } satisfies NamesOf<ConnectionLimits>,
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
