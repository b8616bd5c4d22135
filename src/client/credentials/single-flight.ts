/**
 * Work that several callers wait for at once is done once. Each caller may stop waiting; when the last one does,
 * the work itself is told to stop.
 */
import { TransportError } from '../../model/transport-error.js'

export type SingleFlight<T> = (
  key: string,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
) => Promise<T>

interface Flight<T> {
  readonly result: Promise<T>
  readonly controller: AbortController
  waiting: number
}

export function createSingleFlight<T>(): SingleFlight<T> {
  const flights = new Map<string, Flight<T>>()
  const start = (key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> => {
    const controller = new AbortController()
    const result = work(controller.signal).finally(() => {
      if (flights.get(key) === flight) flights.delete(key)
    })
    const flight: Flight<T> = { result, controller, waiting: 0 }
    // Whoever waits hears of failures; when nobody does any more, nobody has to.
    result.catch(() => undefined)
    flights.set(key, flight)
    return flight
  }
  return async (key, work, signal) => {
    if (signal?.aborted) throw stopped(signal)
    const flight = flights.get(key) ?? start(key, work)
    flight.waiting += 1
    try {
      return await (signal ? until(flight.result, signal) : flight.result)
    } finally {
      flight.waiting -= 1
      if (flight.waiting === 0) {
        if (flights.get(key) === flight) flights.delete(key)
        flight.controller.abort()
      }
    }
  }
}

async function until<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: () => void = () => undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(stopped(signal))
    signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([result, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function stopped({ reason }: AbortSignal): TransportError {
  const isTimeout = reason instanceof Error && reason.name === 'TimeoutError'
  return isTimeout
    ? new TransportError('timeout', 'No credential was there in time', { cause: reason })
    : new TransportError('aborted', 'The call was aborted while it waited for a credential', { cause: reason })
}
