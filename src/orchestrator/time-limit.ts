/** Larger values make Node's timers fire at once. */
const maxTimerMs = 2 ** 31 - 1

interface TimeLimit extends Disposable {
  readonly signal: AbortSignal
  /** The signal was aborted because the time expired. */
  readonly isLate: boolean
  /** Sets the time of expiry. */
  at(timeMs: number): void
}

/** A signal that is aborted when another one is, or when its time expires. */
export function createTimeLimit(other: AbortSignal): TimeLimit {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let isLate = false
  const abort = () => {
    clearTimeout(timer)
    controller.abort(other.reason)
  }
  other.addEventListener('abort', abort)
  if (other.aborted) abort()
  return {
    signal: controller.signal,
    get isLate() {
      return isLate
    },
    at(timeMs) {
      clearTimeout(timer)
      if (controller.signal.aborted) return
      timer = setTimeout(
        () => {
          isLate = true
          controller.abort(new DOMException('The time limit was exceeded', 'TimeoutError'))
        },
        Math.min(maxTimerMs, Math.max(0, timeMs - Date.now())),
      )
    },
    [Symbol.dispose]() {
      clearTimeout(timer)
      other.removeEventListener('abort', abort)
    },
  }
}
