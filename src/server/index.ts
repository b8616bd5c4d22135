/** Serving agents: behind a port, inside another HTTP server, and with signed cards. */

// Serve on a port

export type { RegisterOptions } from './announce.js'
export type { Limits } from './limits.js'
export type { Deadlines } from './listener.js'
export type { MetricsPort } from './metrics.js'
export type { Agents, Mount, MountedAgent } from './mounts.js'
export type { Audit, AuditEntry } from './observe-calls.js'
export { type OpenStoreOptions, openStore } from './open-store.js'
export type {
  AdvancedOptions,
  AdvancedServeOptions,
  HandlerOptions,
  Policy,
  ServedAgent,
  ServeOptions,
} from './options.js'
export type { Rate } from './rate-limit.js'
export type { Route } from './routes.js'
export { type Served, serve } from './serve.js'

// Serve other protocols in front of agents

export type { Exchange, HttpAnswer } from '../transports/exchange.js'
export type { Endpoint, EventStream, Visit, VisitedAgent } from './endpoints.js'

// Serve inside another HTTP server

export type { FetchHandler } from './assemble.js'
export {
  expressMount,
  fastifyMount,
  type HonoMount,
  honoMount,
  type NextRoutes,
  nextMount,
} from './framework-mounts.js'
export { createHandler } from './handler.js'
export { type NodeListener, toNodeListener } from './node.js'

// Dialects, cards and signatures

export type { DialectName } from '../dialects/dialect.js'
export {
  type DialectChoice,
  type ErrorProfile,
  errorProfiles,
  type PinnedDialect,
  type QuestionStatus,
  questionStatuses,
} from '../dialects/servers.js'
export { type CardProblem, type CardReport, validateCard } from '../dialects/validate-card/index.js'
export { skillSchemasUri } from '../model/skill-schemas.js'
export {
  type Claims,
  createSigner,
  type SignatureProfile,
  type Signer,
  type SigningOptions,
} from '../signing/signer.js'
export {
  generateSigningKey,
  type KeyMaterial,
  type NamedKey,
  type SigningAlgorithm,
  type SigningKey,
  signingAlgorithms,
} from '../signing/signing-key.js'
export type { EditCard } from './card-forms.js'
export { type CardForm, cardForms } from './card-forms.js'

// Webhooks

export type { PushOptions } from '../push/create-push.js'
export type { DeadDelivery, PushOperations, Redelivery } from '../push/dead-letters.js'
export type { PushSettings } from '../push/push-settings.js'
export { openStorePush, type StorePush, type StorePushOptions } from './open-store.js'
