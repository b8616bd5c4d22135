/** LangGraph.js: graphs as agents, agents as nodes and tools. */

export { type AsNodeOptions, asNode, type MessagesUpdate, type NodeConfig, type NodeResult } from './as-node.js'
export { asTools } from './as-tools.js'
export { type FromLangGraphOptions, fromLangGraph } from './from-graph.js'
export type { Graph, GraphConfig, GraphState, Interrupt } from './graph.js'
