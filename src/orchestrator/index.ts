// Writing workflows

// Finding their agents
export {
  type AgentAddress,
  type AgentName,
  type AgentResolver,
  type ConnectedAgents,
  connectAgents,
} from './connect-agents.js'
export type { WorkflowEnd } from './ending.js'
export type { Answer, Compensation, Flow, Said, Step, StepAgent, Steps } from './flow.js'
// Looking at runs
export { type GraphNode, graphOf, type WorkflowGraph, workflowUri } from './graph.js'
export { StepError } from './step-error.js'
export type { StepState } from './step-record.js'
export { StepResult } from './step-result.js'
export { type WorkflowOptions, workflow } from './workflow.js'
