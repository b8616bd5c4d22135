/** The names most programs need: write an agent, serve it, call others. Other entries have the rest. */
import type { AgentClient } from './client/agent-client.js'
import type { ConnectOptions, ConnectTarget } from './client/connect-options.js'

// Write agents

export {
  type Agent,
  type AgentInit,
  agent,
  type Handler,
  type SkillInit,
  type Turn,
} from './engine/agent.js'
export {
  type ArtifactOptions,
  type AskOptions,
  approve,
  artifact,
  ask,
  askAuth,
  type Content,
  completed,
  failed,
  rejected,
  reply,
  step,
  working,
  type Yield,
} from './engine/yields.js'
export { approvals } from './model/approvals.js'
export type { Artifact } from './model/artifact.js'
export { A2AError, type ErrorCode } from './model/errors.js'
export { extension } from './model/extension.js'
export { fromJsonSchema } from './model/from-json-schema.js'
export type { Message } from './model/message.js'
export { data, file, type Part, text, textOf } from './model/part.js'
export { steps } from './model/steps.js'
export { isInterrupted, isTerminal, type Task, type TaskState } from './model/task.js'
export { usage } from './model/usage.js'

// Serve agents

export { jwt, oidc } from './auth/jwt.js'
export { mtls } from './auth/mtls.js'
export { apiKey, basic, bearer } from './auth/static-schemes.js'
export type { ServedAgent, ServeOptions } from './server/options.js'
export { type Served, serve } from './server/serve.js'
export { MemoryStore } from './stores/memory.js'

// Call agents

export type { AgentClient } from './client/agent-client.js'
export type { ConnectOptions, ConnectTarget } from './client/connect-options.js'
export type { AgentCard } from './model/agent-card.js'
export { TransportError } from './model/transport-error.js'

// Extend: wrap an agent's operations, write a store

export type { StreamResponse } from './model/event.js'
export type { AgentService, CallContext, Caller, StreamItem } from './model/service.js'
export type { Store } from './stores/store.js'

/**
 * Connects to an agent of any protocol version, as `connect` of `dragoman/client` does. The first call loads the client, so
 * that programs that only serve agents start without it.
 *
 * ```ts
 * const agent = await connect('localhost:8001')
 * const { text } = await agent.ask('Hello')
 * ```
 */
export async function connect(ref: ConnectTarget, options?: ConnectOptions): Promise<AgentClient> {
  const { connect: open } = await import('./client/connect.js')
  return await open(ref, options)
}
