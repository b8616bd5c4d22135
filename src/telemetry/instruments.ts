/** Every metric, in one place: dashboards depend on the names, and `docs/operating.md` says what they mean. */
import type { MetricOptions } from '@opentelemetry/api'

interface Instrument extends MetricOptions {
  readonly name: string
}

/** In seconds: most calls take less than a millisecond, streams take minutes. */
const callSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 600]
const commitSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]
const groupSizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]

export const instruments = {
  calls: { name: 'dragoman.calls', description: 'Calls that have ended' },
  duration: {
    name: 'dragoman.call.duration',
    description: 'From the arrival of a call to its answer, or to the end of its stream',
    unit: 's',
    advice: { explicitBucketBoundaries: callSeconds },
  },
  refusals: { name: 'dragoman.limit.refusals', description: 'Calls that a limit was in the way of' },

  running: { name: 'dragoman.tasks.running', description: 'Tasks that run in this process' },
  waiting: {
    name: 'dragoman.messages.waiting',
    description: 'Messages to tasks that run in this process, waiting for their turn',
  },
  unheld: { name: 'dragoman.tasks.unheld', description: 'Tasks with a turn to run that no process holds' },
  leaseAge: {
    name: 'dragoman.lease.age',
    description: 'Since the lease that will end first was renewed, whoever holds it',
    unit: 's',
  },
  fenced: {
    name: 'dragoman.runs.fenced',
    description: 'Runs of this process that were stopped because another process had taken their task over',
  },
  stalls: {
    name: 'dragoman.eventloop.stalls',
    description: 'Times that the event loop of this process was blocked for too long; agent `none`: no handler ran',
  },
  stalled: {
    name: 'dragoman.eventloop.stalled',
    description: 'How long these stalls took together',
    unit: 's',
  },

  streams: { name: 'dragoman.streams.open', description: 'Streams that are read from this process' },
  streamLag: {
    name: 'dragoman.streams.lag',
    description: 'Events that the slowest reader of a stream of this process has not been given yet',
  },

  pendingCursors: { name: 'dragoman.push.pending', description: 'Webhooks with something to be told' },
  overdue: {
    name: 'dragoman.push.overdue',
    description: 'For how long a webhook has been due that no process has taken up',
    unit: 's',
  },
  deadLetters: { name: 'dragoman.push.dead_letters', description: 'Deliveries that were given up and are kept' },

  commitSteps: {
    name: 'dragoman.store.commit.steps',
    description: 'Steps that were committed together',
    advice: { explicitBucketBoundaries: groupSizes },
  },
  commitDuration: {
    name: 'dragoman.store.commit.duration',
    description: 'Time of one commit, attempts that had to be repeated included',
    unit: 's',
    advice: { explicitBucketBoundaries: commitSeconds },
  },
  storeFailures: { name: 'dragoman.store.failures', description: 'Calls of the store that failed' },
  expired: {
    name: 'dragoman.retention.tasks',
    description: 'Tasks that retention removed, or whose events it removed',
  },

  memory: { name: 'process.memory.usage', description: 'Resident memory of this process', unit: 'By' },
  eventLoop: {
    name: 'nodejs.eventloop.utilization',
    description: 'Part of the time since the last look in which the event loop was busy',
  },
} as const satisfies Readonly<Record<string, Instrument>>
