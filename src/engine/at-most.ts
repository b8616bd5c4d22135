/** The work, or what is left of it when the time is over: it goes on, but nobody waits for it any more. */
export async function atMost(ms: number, work: PromiseLike<unknown> | undefined): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  try {
    await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
