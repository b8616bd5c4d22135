// Dialects and cards
export { type DialectName, dialectNames } from '../dialects/dialect.js'
export { type QuestionStatus, questionStatuses } from '../dialects/invoke/tasks.js'
export { type ErrorProfile, errorProfiles } from '../dialects/v1/errors.js'
export { type CardProblem, type CardReport, validateCard } from '../dialects/validate-card/index.js'
// Webhooks
export type { PushOptions } from '../push/create-push.js'
export type { DeadDelivery, PushOperations, Redelivery } from '../push/dead-deliveries.js'
export type { PushSettings } from '../push/push-settings.js'
// Serving
export type { RegisterOptions } from './announce.js'
export { skillSchemasUri } from './card.js'
export { type CardForm, cardForms } from './card-forms.js'
export type { CardVersion, EditCard } from './edit-card.js'
// Mounting in other servers
export { expressMount } from './express.js'
export { fastifyMount } from './fastify.js'
export { createHandler, type Handler, type HandlerOptions } from './handler.js'
export { type HonoMount, honoMount } from './hono.js'
export type { Limits } from './limits.js'
export type { Deadlines } from './listener.js'
export type { MetricsPort } from './metrics.js'
export type { Agents, Mount, MountedAgent } from './mounts.js'
export { type NextRoutes, nextMount } from './next.js'
export { type NodeListener, toNodeListener } from './node.js'
export type { Audit, AuditEntry } from './observe-calls.js'
export type { DialectChoice, PinnedDialect } from './offered-dialects.js'
// Stores
export { type OpenStoreOptions, openStore } from './open-store.js'
export type { Policy } from './policy.js'
export type { Rate } from './rate-limit.js'
export type { Route, Visit } from './routes.js'
// Serving
export { type Served, type ServedAgent, type ServeOptions, serve } from './serve.js'
// Webhooks
export { openStorePush, type StorePush, type StorePushOptions } from './store-push.js'
