/** Time limits that end with a turn. */

/** Node's timers fire at once when they are given more. */
const maxTimerMs = 2 ** 31 - 1

export interface TimeLimit extends Disposable {
  readonly signal: AbortSignal
  /** It was the time that ran out. */
  readonly isLate: boolean
  /** Moves the end of the time. */
  at(timeMs: number): void
}

/** A signal that aborts with another one, or when its time is over. Its timer ends with the other signal too. */
export function createTimeLimit(other: AbortSignal): TimeLimit {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let isLate = false
  const leave = () => {
    clearTimeout(timer)
    controller.abort(other.reason)
  }
  other.addEventListener('abort', leave)
  if (other.aborted) leave()
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
          controller.abort(new DOMException('The time is over', 'TimeoutError'))
        },
        Math.min(maxTimerMs, Math.max(0, timeMs - Date.now())),
      )
    },
    [Symbol.dispose]() {
      clearTimeout(timer)
      other.removeEventListener('abort', leave)
    },
  }
}
