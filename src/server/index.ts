// Serving
export { type Served, type ServedAgent, type ServeOptions, serve } from './serve.js'
export type { Deadlines } from './listener.js'
// Mounting in other servers
export { type Agents, createHandler, type Handler, type HandlerOptions, type MountedAgent } from './handler.js'
export { expressMount } from './express.js'
export { fastifyMount } from './fastify.js'
export { type NodeListener, toNodeListener } from './node.js'
export { skillSchemasUri } from './card.js'
