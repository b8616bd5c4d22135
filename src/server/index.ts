// Serving

export { skillSchemasUri } from './card.js'
export { expressMount } from './express.js'
export { fastifyMount } from './fastify.js'
// Mounting in other servers
export { type Agents, createHandler, type Handler, type HandlerOptions, type MountedAgent } from './handler.js'
export type { Deadlines } from './listener.js'
export { type NodeListener, toNodeListener } from './node.js'
export { type Served, type ServedAgent, type ServeOptions, serve } from './serve.js'
