/** What ends a wait, and what does not. */

/** For what goes on in another turn, or nowhere: whoever waits for it is left behind with the turn. */
export function never(): Promise<never> {
  return new Promise<never>(() => undefined)
}

/** Node's timers fire at once when they are given more. */
const longestTimerMs = 2 ** 31 - 1

export interface Limit extends Disposable {
  readonly signal: AbortSignal
  /** It was the time that ran out. */
  readonly isLate: boolean
  /** Moves the end of the time. */
  at(timeMs: number): void
}

/** A signal that fires with another one, or when its time is over. */
export function untilAborted(other: AbortSignal): Limit {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let isLate = false
  const leave = () => controller.abort(other.reason)
  other.addEventListener('abort', leave)
  if (other.aborted) leave()
  return {
    signal: controller.signal,
    get isLate() {
      return isLate
    },
    at(timeMs) {
      clearTimeout(timer)
      timer = setTimeout(
        () => {
          isLate = true
          controller.abort(new DOMException('The time is over', 'TimeoutError'))
        },
        Math.min(longestTimerMs, Math.max(0, timeMs - Date.now())),
      )
    },
    [Symbol.dispose]() {
      clearTimeout(timer)
      other.removeEventListener('abort', leave)
    },
  }
}
