type Truthy<T> = Exclude<T, false | null | undefined | 0 | ''>

/** Waits for a condition, never for a time: resolves with the first truthy value, or fails at the deadline. */
export async function until<T>(
  probe: () => T | Promise<T>,
  options: { readonly deadlineMs?: number } = {},
): Promise<Truthy<T>> {
  const deadline = Date.now() + (options.deadlineMs ?? 5000)
  for (;;) {
    const value = await probe()
    if (value) return value as Truthy<T>
    if (Date.now() > deadline) throw new Error(`Not so within ${options.deadlineMs ?? 5000} ms: ${probe}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** A promise and its ends, for handlers that wait until a test lets them go. */
export interface Gate {
  readonly opened: Promise<void>
  open(): void
}

/** Makes a gate: a promise that a test opens. */
export function gate(): Gate {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}
