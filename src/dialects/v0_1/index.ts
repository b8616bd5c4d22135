import { type Dialect, exampleCall } from '../dialect.js'
import { encodeCard } from './card.js'
import { encodeError, errors } from './errors.js'
import { facts, goFacts, goLimitations, limitations } from './facts.js'
import { createOperations, methods } from './operations.js'
import { createStreamEncoder } from './stream.js'
import { encodeTask } from './tasks.js'
import { exampleMessage, go, standard } from './wire-form.js'

interface V0_1Options {
  /** The published v0.1, or that of the community Go library. Default `standard`. */
  readonly profile?: 'standard' | 'go'
}

/** A2A v0.1: `tasks/*`, task ids chosen by the caller, artifacts by number. */
export function createV0_1({ profile = 'standard' }: V0_1Options = {}): Dialect {
  const isGo = profile === 'go'
  const wireForm = isGo ? go : standard
  return {
    // Both profiles have the same methods, so they differ by address only.
    ...(isGo ? { ...goFacts, defaultPath: '/go' } : { ...facts, isDefault: true }),
    traits: { mustBeTask: true, hasOnePushConfig: true, cannotResume: true, cancelsOnce: true, endsAtQuestions: !isGo },
    jsonrpc: {
      methods,
      operations: createOperations(wireForm),
      // `jsonrpc` may be missing (RL-01-11); the Go library also takes "0" (RL-GO-5).
      envelopeVersions: isGo ? ['2.0', undefined, '0'] : ['2.0', undefined],
      createStreamEncoder: (call) => createStreamEncoder(call, wireForm),
      encodeError,
      httpStatus: ({ code }) => errors[code].http,
    },
    push: {
      contentType: 'application/json',
      // The task's id is sent under both names (RL-01-8).
      encodeTask: (task) => JSON.stringify({ taskId: task.id, ...encodeTask(task, wireForm, false) }),
    },
    card: { encode: (card) => encodeCard(card, wireForm) },
    example: { path: '', body: exampleCall('tasks/send', { id: isGo ? 'job-2' : 'job-1', message: exampleMessage }) },
    // The states of the Go library differ from those of v0.1.
    limitations: isGo ? [...goLimitations, ...limitations.slice(1)] : limitations,
  }
}

export const v0_1: Dialect = createV0_1()

/** v0.1 of the community Go library. */
export const v0_1Go: Dialect = createV0_1({ profile: 'go' })
