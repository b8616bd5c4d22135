/** Workflows: agents whose steps other agents do, each step once. */

// Write workflows

export type { Compensation, Flow, Step, StepAgent, StepMessage, Steps, WorkflowAnswer } from './flow.js'
export type { AgentResolver, StepAgentName } from './step-agents.js'
export { StepError, StepResult } from './step-result.js'
export { type WorkflowOptions, workflow } from './workflow.js'
export type { WorkflowEnd } from './workflow-run.js'

// Inspect runs

export { type GraphNode, graphOf, type WorkflowGraph, workflowUri } from './graph.js'
export type { StepState } from './step-record.js'
