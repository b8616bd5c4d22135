/** Waiting on conditions with deadlines; nothing here sleeps for its own sake. */

/** The value, or an error that says what was waited for in vain. */
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

/** Asks again until the answer is there. */
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
