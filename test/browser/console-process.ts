/** Starts the console and agents as processes. */
import { eventually } from '../hostile/waiting.js'
import { ServerProcess } from '../process/server-process.js'

export async function startProcess(args: readonly string[]): Promise<ServerProcess> {
  const started = new ServerProcess(args)
  try {
    started.url = await eventually(20_000, 'the ready line', () => {
      if (started.hasExited) throw new Error(`It ended before it was ready: ${started.stdout}${started.stderr}`)
      return / is ready at (https?:[^\s"]+)/.exec(started.stdout)?.[1]
    })
    return started
  } catch (error) {
    await started[Symbol.asyncDispose]()
    throw error
  }
}

/** The echo agent in every dialect; pass `--port` to restart it at its old address. */
export function startEcho(...more: readonly string[]): Promise<ServerProcess> {
  const port = more.includes('--port') ? [] : ['--port', '0']
  return startProcess(['serve', '--echo', '--dialects', 'all', '--allow-webhook', 'localhost', ...port, ...more])
}

export function startConsole(...more: readonly string[]): Promise<ServerProcess> {
  return startProcess(['console', ...(more.includes('--port') ? [] : ['--port', '0']), ...more])
}

export function portOf(url: string): string {
  return new URL(url).port
}
