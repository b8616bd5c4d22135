/** Closes what a command serves at the first signal; a second one does not wait. */
export function closeOnSignal(close: () => Promise<void>): void {
  let signals = 0
  const onSignal = () => {
    signals += 1
    if (signals > 1) process.exit(1)
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error('dragoman: could not close cleanly:', error)
        process.exit(1)
      },
    )
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
}
