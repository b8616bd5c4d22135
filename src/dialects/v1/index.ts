import { eventJson } from '../../model/event.js'
import type { Dialect } from '../dialect.js'
import { errorDetails, errors } from './errors.js'
import { methods, operations, routes } from './operations.js'

/** A2A v1.0. The model is v1.0's JSON, so an event is serialised once and shared by all its readers. */
export const v1: Dialect = {
  version: '1.0',
  methods,
  routes,
  operations,
  createStreamEncoder: () => eventJson,
  errors,
  errorDetails,
  encodeCard: (card) => card,
}
