import type { GraphNode } from 'dragoman/orchestrator'

export const stepTones: Readonly<Record<GraphNode['state'], string>> = {
  running: 'info',
  asking: 'warn',
  completed: 'good',
  failed: 'bad',
  canceled: '',
}

/** The duration of a step, until now if it is running. */
export function msOf({ startedAt, endedAt }: GraphNode, now = Date.now()): number {
  return Math.max(0, (endedAt === undefined ? now : Date.parse(endedAt)) - Date.parse(startedAt))
}
