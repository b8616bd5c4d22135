import type { Dialect } from '../dialect.js'
import { exampleMessage } from '../v0_1/wire-form.js'
import { encodeCard } from './card.js'
import { encodeError } from './errors.js'
import { facts, limitations } from './facts.js'
import { operations, routes } from './operations.js'
import { createStreamEncoder } from './stream.js'
import { encodeTask } from './tasks.js'

/** Tasks over plain HTTP: `POST /tasks/send` and related routes, with whole tasks in every response. */
export const taskRest: Dialect = {
  ...facts,
  traits: {
    mustBeTask: true,
    hasOnePushConfig: true,
    cannotResume: true,
    showsEndedTasks: true,
    endsAtQuestions: true,
    cancelsOnce: true,
    showsProgress: true,
  },
  rest: { routes, operations, createStreamEncoder, encodeError, refusesOtherMethods: true },
  push: { contentType: 'application/json', encodeTask: (task) => JSON.stringify(encodeTask(task)) },
  card: { encode: encodeCard },
  example: { path: '/tasks/send', body: { message: exampleMessage } },
  limitations,
}
