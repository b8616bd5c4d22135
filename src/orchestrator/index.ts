// Writing workflows

export type { WorkflowEnd } from './ending.js'
export type { Answer, Compensation, Flow, Said, Step, StepAgent, Steps } from './flow.js'
// Looking at runs
export { type GraphNode, graphOf, type WorkflowGraph, workflowUri } from './graph.js'
// Finding their agents
export type { AgentResolver, StepAgentName } from './step-agents.js'
export { StepError } from './step-error.js'
export type { StepState } from './step-record.js'
export { StepResult } from './step-result.js'
export { type WorkflowOptions, workflow } from './workflow.js'
