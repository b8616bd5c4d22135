/** The OpenAI Agents SDK: its agents as A2A agents, A2A agents as tools. */

export { asTools } from './as-tools.js'
export { type FromOpenAiAgentOptions, fromOpenAiAgent } from './from-agent.js'
