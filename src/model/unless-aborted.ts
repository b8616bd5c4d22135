/**
 * Returns the result of the work, or rejects with the signal's reason as soon as it aborts. Work that is passed as a function
 * does not start if the signal has aborted before.
 */
export async function unlessAborted<T>(
  work: Promise<T> | (() => Promise<T>),
  signal: AbortSignal | null | undefined,
): Promise<T> {
  const isStarted = typeof work !== 'function'
  if (!signal) return await (isStarted ? work : work())
  if (!isStarted) signal.throwIfAborted()
  return await new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    const started = isStarted ? work : work()
    started.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
