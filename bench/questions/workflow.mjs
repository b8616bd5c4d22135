// What does a step of a workflow cost, beside the time of the agent that does it?
import { bout } from '../bout.mjs'

const servers = ['workflow-memory', 'workflow-sqlite']

export const workflow = {
  name: 'workflow',
  title: 'Runs of a workflow of 20 steps, one after the other, and the same 20 calls made directly, over loopback',
  rounds: { full: 5, quick: 2 },
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
      measure: () => bout(server, {}, (sides) => measure(sides, settings)),
    })),
  budgets: (median) =>
    servers.map((server) => ({
      what: `a step, over the agent's own time (${server.replace('workflow-', '')})`,
      value: median(server, 'overheadMs'),
      atMost: 5,
      unit: ' ms',
    })),
}

async function measure({ server, load }, settings) {
  const { runMs, aloneMs } = await load.run('runWorkflows', { origin: server.origin, ...settings })
  const [stepMs, callMs] = [runMs / settings.steps, aloneMs / settings.steps]
  return { overheadMs: stepMs - callMs, stepMs, callMs }
}
