import { eventJson } from '../../model/event.js'
import type { StreamItem } from '../../model/service.js'
import type { Dialect } from '../dialect.js'
import { errorDetails, errors } from './errors.js'
import { methods, operations, routes } from './operations.js'

/** A2A v1.0. The model is v1.0's JSON, so an event is serialised once and shared by all its readers. */
export const v1: Dialect = {
  version: '1.0',
  methods,
  routes,
  operations,
  createStreamEncoder: () => encodeItem,
  errors,
  errorDetails,
  encodeCard: (card) => card,
}

/** The shared text, unless somebody on the way put another event in its place. */
function encodeItem({ event, source }: StreamItem): string {
  return source?.body === event ? eventJson(source) : JSON.stringify(event)
}
