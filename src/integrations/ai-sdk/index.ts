/** The AI SDK of Vercel, versions 6 and 7. Needs the package `ai` for its types only. */

// Serve agents of the AI SDK

export { type ChatEndpointOptions, chatEndpoint } from './chat-endpoint.js'
export { type AiSdkAgent, type AiSdkFunction, type AiSdkRun, type FromAiSdkOptions, fromAiSdk } from './from-ai-sdk.js'

// Use A2A agents in the AI SDK

export type { ToolOutput, ToolQuestion, ToolResult } from '../agent-tools.js'
export type { ClientOrAddress } from '../lazy-client.js'
export { asChatTransport } from './as-chat-transport.js'
export { type AgentModel, asModel } from './as-model.js'
export { type AgentTools, asTools } from './as-tools.js'
