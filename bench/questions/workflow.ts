/** The cost of a workflow step beyond the time of the agent that it calls. */
import { type Measurement, withServer } from '../measurement.ts'
import { defineQuestion } from './question.ts'

const servers = ['workflow-memory', 'workflow-sqlite'] as const

interface WorkflowSettings {
  readonly steps: number
  readonly warmUpMs: number
  readonly durationMs: number
}

export const workflow = defineQuestion({
  name: 'workflow',
  title: 'Runs of a workflow of 20 steps, one after the other, and the same 20 calls made directly, over loopback',
  rounds: { full: 5, quick: 2 },
  isLong: true,
  columns: [
    { key: 'overheadMs', title: 'ms per step over the agent’s own', digits: 2 },
    { key: 'stepMs', title: 'ms per step', digits: 2 },
    { key: 'callMs', title: 'ms per call', digits: 2 },
  ],
  settings: ({ isQuick }) => ({
    steps: 20,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1500 : 4000,
  }),
  entries: (settings) =>
    servers.map((server) => ({
      id: server,
      server,
      measure: () => withServer(server, {}, (each) => measure(each, settings)),
    })),
  budgets: ({ median }) =>
    servers.map((server) => ({
      what: `a step, over the agent's own time (${server.replace('workflow-', '')})`,
      value: median(server, 'overheadMs'),
      atMost: 5,
      unit: ' ms',
    })),
})

async function measure({ server, load }: Measurement, settings: WorkflowSettings) {
  const { runMs, directMs } = await load.run('runWorkflows', { origin: server.origin, ...settings })
  const [stepMs, callMs] = [runMs / settings.steps, directMs / settings.steps]
  return { overheadMs: stepMs - callMs, stepMs, callMs }
}
