/** Processes with little memory whose callers and agents try to use more. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { builtLibrary, startServer, temporaryFolder } from './server-process.js'

async function send(url: string, text: string): Promise<Response> {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text }] }
  return await fetch(new URL('/message:send', url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ message }),
  })
}

it('a memory store survives sends of 10 MB that together are larger than the heap', async () => {
  await using server = await startServer(['--echo'], { env: { NODE_OPTIONS: '--max-old-space-size=512' } })
  const text = 'x'.repeat(10 * 1024 * 1024 - 1000)
  for (let n = 0; n < 50; n++) {
    const response = await send(server.url, text)
    await response.body?.cancel()
    expect(response.status).toBe(200)
  }
  const tasks = await fetch(new URL('/tasks?historyLength=0', server.url), { headers: { 'a2a-version': '1.0' } })
  const { totalSize } = (await tasks.json()) as { totalSize: number }
  expect(totalSize).toBeGreaterThan(1)
  expect(totalSize).toBeLessThan(10)
  expect(server.hasExited).toBe(false)
})

it.each(['memory', 'sqlite'])('one yield of 300 MB ends the task and not the process, on %s', async (store) => {
  await using folder = await temporaryFolder()
  const module = join(folder.path, 'agent.mjs')
  await writeFile(
    module,
    `import { agent } from ${JSON.stringify(builtLibrary)}
    export default agent('Large', async function* ({ text }) {
      if (text === 'peak') yield String(process.resourceUsage().maxRSS)
      else yield Buffer.alloc(300_000_000, 'x').toString('latin1')
    })`,
  )
  const address = store === 'memory' ? store : `sqlite:${join(folder.path, 'tasks.sqlite')}`
  await using server = await startServer([module, '--store', address])
  const answer = async (text: string) =>
    (await (await send(server.url, text)).json()) as {
      task: {
        status: { state: string; message?: { parts: { text: string }[] } }
        artifacts?: { parts: { text: string }[] }[]
      }
    }
  const { status } = (await answer('large')).task
  expect(status.state).toBe('TASK_STATE_FAILED')
  expect(status.message?.parts[0]?.text).toBe('The task is too large (limit bytesPerTask: 64 MB)')
  const peakKb = Number((await answer('peak')).task.artifacts?.[0]?.parts[0]?.text)
  // The buffer, the string and the process itself.
  expect(peakKb / 1024).toBeLessThan(1000)
})
