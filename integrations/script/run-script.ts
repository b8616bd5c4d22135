import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Runs the script on a runtime and returns its output. Rejects if the process fails, or does not end by itself. */
export async function runScript(
  command: string,
  args: readonly string[],
  bindings: readonly string[],
): Promise<readonly string[]> {
  const main = fileURLToPath(new URL('main.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(command, [...args, main, ...bindings], { timeout: 60_000 })
  return stdout.trim().split('\n')
}
