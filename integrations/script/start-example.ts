import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Copies an example to where it resolves the packages of a group. Returns the path of the copy. */
export function copyExample(name: string, group: string, as = join('.examples', name)): string {
  const copy = join(group, as)
  rmSync(dirname(copy), { recursive: true, force: true })
  mkdirSync(dirname(copy), { recursive: true })
  copyFileSync(fileURLToPath(new URL(`../../examples/integrations/${name}`, import.meta.url)), copy)
  return copy
}

interface RunningExample extends AsyncDisposable {
  readonly url: string
}

/** Starts a server on a free port, which replaces PORT in its arguments, and waits until it answers at `path`. */
export async function startExample(
  command: string,
  args: readonly string[],
  cwd: string,
  { path = '', env = {} }: { readonly path?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<RunningExample> {
  const port = await freePort()
  const url = `http://localhost:${port}${path}`
  const withPort = (text: string) => text.replace('PORT', port)
  const settings = Object.entries(env).map(([name, value]) => [name, withPort(value)])
  const child = spawn(command, args.map(withPort), {
    cwd,
    env: { ...process.env, PORT: port, ...Object.fromEntries(settings) },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGKILL')
    await ended
  }
  // The server prints nothing on some runtimes, so ask it.
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`)
    const answer = await fetch(`${url}/.well-known/agent-card.json`).catch(() => undefined)
    if (answer?.ok) break
    await Promise.race([new Promise((resolve) => setTimeout(resolve, 50)), ended])
  }
  return { url, [Symbol.asyncDispose]: stop }
}

export async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return String(typeof address === 'object' ? address?.port : '')
}
