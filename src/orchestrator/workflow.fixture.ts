/** Opens a workflow and its agents as engines in one process. */
import type { Agent } from '../engine/agent.js'
import { type StoreKind, type TestEngine, testEngine } from '../engine/engine.fixture.js'
import type { EngineOptions } from '../engine/engine.js'
import type { AgentService } from '../model/service.js'
import type { Task } from '../model/task.js'
import type { CompleteStore } from '../stores/store.js'
import { graphOf } from './graph.js'

export interface TestWorkflow {
  readonly workflow: TestEngine
  /** The agents of its steps, by name. */
  readonly agents: ReadonlyMap<string, TestEngine>
  [Symbol.asyncDispose](): Promise<void>
}

export async function openWorkflow(
  workflow: Agent,
  others: readonly Agent[],
  kind: StoreKind | CompleteStore = 'memory',
  options: Partial<EngineOptions> = {},
): Promise<TestWorkflow> {
  const agents = new Map<string, TestEngine>()
  for (const each of others) agents.set(each.card.name, await testEngine(each, 'memory'))
  const engine = await testEngine(workflow, kind, { resolve: resolveAmong(agents), ...options })
  return {
    workflow: engine,
    agents,
    async [Symbol.asyncDispose]() {
      await engine[Symbol.asyncDispose]()
      for (const each of agents.values()) await each[Symbol.asyncDispose]()
    },
  }
}

/** Resolves agents as `serve` does for agents that it serves together. */
export function resolveAmong(agents: ReadonlyMap<string, AgentService>): NonNullable<EngineOptions['resolve']> {
  return (ref) => agents.get(typeof ref === 'string' ? ref : ref.card.name)
}

/** The graph as lines such as `hotel completed after flight`. */
export function graphLines(task: Task): readonly string[] {
  const graph = graphOf(task)
  return (graph?.nodes ?? []).map(({ id, state }) => {
    const before = graph?.edges.filter(({ to }) => to === id).map(({ from }) => from) ?? []
    return `${id} ${state}${before.length > 0 ? ` after ${before.join(', ')}` : ''}`
  })
}
