/** Agents in a Durable Object of Cloudflare Workers. */

export { type AgentObject, type AgentObjectOptions, agentObject, type ObjectState } from './agent-object.js'
