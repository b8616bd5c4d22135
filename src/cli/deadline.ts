import { TransportError } from '../client/index.js'

/** Work that may take so many seconds, or as long as it likes. */
export async function withDeadline<T>(
  seconds: number | undefined,
  work: (options: { readonly signal?: AbortSignal }) => Promise<T>,
): Promise<T> {
  if (seconds === undefined) return await work({})
  const signal = AbortSignal.timeout(seconds * 1000)
  try {
    return await work({ signal })
  } catch (cause) {
    if (!signal.aborted) throw cause
    throw new TransportError('timeout', `It took longer than ${seconds} s`, { cause })
  }
}
