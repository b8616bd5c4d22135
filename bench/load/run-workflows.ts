/** Runs of a workflow, and the same calls made directly to its agent: the difference is the cost of a step. */
import type { Answer } from 'dragoman/client'
import { after } from './workers.ts'

export interface WorkflowOptions {
  readonly origin: string
  readonly steps: number
  readonly warmUpMs: number
  readonly durationMs: number
}

/** Returns the mean time of one run, and of the same number of direct calls. */
export async function runWorkflows(options: WorkflowOptions): Promise<{ runMs: number; directMs: number }> {
  const { origin, steps, warmUpMs, durationMs } = options
  // Loaded on use: the other jobs need no build of Dragoman.
  const { connect } = await import('dragoman/client')
  const workflow = await connect(origin)
  const agent = await connect(resultOf(await workflow.ask('where')) ?? '')
  const run = async () => {
    if (resultOf(await workflow.ask(String(steps))) !== 'done') throw new Error('The run failed')
  }
  const callDirectly = async () => {
    for (let step = 1; step <= steps; step++) {
      const { state } = await agent.ask(`hello ${step}`)
      if (state !== 'TASK_STATE_COMPLETED') throw new Error(`The agent answered ${state}`)
    }
  }
  await meanMs(run, warmUpMs)
  await meanMs(callDirectly, warmUpMs)
  const runMs = await meanMs(run, durationMs)
  const directMs = await meanMs(callDirectly, durationMs)
  await Promise.all([workflow.close(), agent.close()])
  return { runMs, directMs }
}

function resultOf({ task }: Answer): string | undefined {
  const part = task?.artifacts?.find(({ artifactId }) => artifactId === 'result')?.parts[0]
  return part && 'text' in part ? part.text : undefined
}

/** Repeats a call for `durationMs` and returns its mean time. */
async function meanMs(call: () => Promise<void>, durationMs: number): Promise<number> {
  const isOver = after(durationMs)
  const startedAt = performance.now()
  let count = 0
  do {
    await call()
    count += 1
  } while (!isOver())
  return (performance.now() - startedAt) / count
}
