// Runs of a workflow, one after the other, and the same calls made to its agent directly: the difference
// is what a step costs.
import { after } from './workers.mjs'

/** @param {{ origin: string, steps: number, warmUpMs: number, durationMs: number }} options */
export async function runWorkflows({ origin, steps, warmUpMs, durationMs }) {
  const { connect } = await import('../../dist/client/index.js')
  const workflow = await connect(origin)
  const agent = await connect(resultOf(await workflow.ask('where')))
  const run = async () => {
    if (resultOf(await workflow.ask(String(steps))) !== 'done') throw new Error('The run did not end well')
  }
  const alone = async () => {
    for (let step = 1; step <= steps; step++) {
      const { state } = await agent.ask(`hello ${step}`)
      if (state !== 'TASK_STATE_COMPLETED') throw new Error(`The agent answered ${state}`)
    }
  }
  await millisOf(run, warmUpMs)
  await millisOf(alone, warmUpMs)
  const runMs = await millisOf(run, durationMs)
  const aloneMs = await millisOf(alone, durationMs)
  await Promise.all([workflow.close(), agent.close()])
  return { runMs, aloneMs }
}

function resultOf({ task }) {
  return task?.artifacts?.find(({ artifactId }) => artifactId === 'result')?.parts[0]?.text
}

/** The mean of one, over a while. */
async function millisOf(one, durationMs) {
  const isOver = after(durationMs)
  const startedAt = performance.now()
  let count = 0
  do {
    await one()
    count += 1
  } while (!isOver())
  return (performance.now() - startedAt) / count
}
