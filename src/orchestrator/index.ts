/** Workflows: agents whose steps other agents do, each step once. */

// Write workflows

export type { WorkflowEnd } from './ending.js'
export type { Compensation, Flow, Said, Step, StepAgent, Steps, WorkflowAnswer } from './flow.js'
export type { AgentResolver, StepAgentName } from './step-agents.js'
export { StepError } from './step-error.js'
export { StepResult } from './step-result.js'
export { type WorkflowOptions, workflow } from './workflow.js'

// Inspect runs

export { type GraphNode, graphOf, type WorkflowGraph, workflowUri } from './graph.js'
export type { StepState } from './step-record.js'
