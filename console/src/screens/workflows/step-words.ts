import type { GraphNode } from 'dragoman/orchestrator'

export const stepTones: Readonly<Record<GraphNode['state'], string>> = {
  running: 'info',
  asking: 'warn',
  completed: 'good',
  failed: 'bad',
  canceled: '',
}

export function durationOf({ startedAt, endedAt }: GraphNode, now = Date.now()): string {
  const ms = Math.max(0, (endedAt === undefined ? now : Date.parse(endedAt)) - Date.parse(startedAt))
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`
}
