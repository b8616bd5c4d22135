/** Waits for conditions, with deadlines. */

/** Returns the value, or throws an error that names the condition after a timeout. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Waited ${ms} ms in vain for ${what}`)), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Polls until there is a value. */
export async function eventually<T>(
  ms: number,
  what: string,
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const deadline = Date.now() + ms
  for (;;) {
    const seen = await look()
    if (seen !== undefined && seen !== false) return seen
    if (Date.now() > deadline) throw new Error(`Waited ${ms} ms in vain for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 15))
  }
}
