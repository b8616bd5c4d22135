/** Colour where a terminal shows it: decided for each stream, and off when somebody says so. */
import pc from 'picocolors'

function coloursFor(stream: { readonly isTTY?: boolean }): ReturnType<typeof pc.createColors> {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env
  return pc.createColors(!NO_COLOR && (Boolean(FORCE_COLOR) || (stream.isTTY === true && TERM !== 'dumb')))
}

export const onStdout = coloursFor(process.stdout)
export const onStderr = coloursFor(process.stderr)
