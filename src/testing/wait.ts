type Truthy<T> = Exclude<T, false | null | undefined | 0 | ''>

/** Waits until the condition is truthy and resolves with its value. Throws after `deadlineMs`, 5 s by default. */
export async function until<T>(
  probe: () => T | Promise<T>,
  options: { readonly deadlineMs?: number } = {},
): Promise<Truthy<T>> {
  const deadline = Date.now() + (options.deadlineMs ?? 5000)
  for (;;) {
    const value = await probe()
    if (value) return value as Truthy<T>
    if (Date.now() > deadline)
      throw new Error(`The condition was not met within ${options.deadlineMs ?? 5000} ms: ${probe}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** A promise that a test resolves, for handlers that must wait. */
export interface Gate {
  readonly opened: Promise<void>
  open(): void
}

/** Makes a gate: a promise that a test opens. */
/**
 * Creates a gate that is closed.
 *
 * ```ts
 * const { opened, open } = gate()
 * ```
 */
export function gate(): Gate {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}
