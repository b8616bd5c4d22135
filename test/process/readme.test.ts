/** What the README shows runs. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')

function snippet(name: string): string {
  const [, code] = new RegExp(`\`\`\`ts\\n// ${name}\\n([\\s\\S]*?)\`\`\``).exec(readme) ?? []
  if (code === undefined) throw new Error(`The README has no ${name}`)
  return code
}

describe('the README', () => {
  it('shows a server, a curl line and a client that work', { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dragoman-readme-'))
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(root, join(folder, 'node_modules', 'dragoman'))
    const port = 20_000 + (process.pid % 20_000)
    const at = (code: string) => code.replaceAll('8001', String(port))
    writeFileSync(join(folder, 'agent.mjs'), at(snippet('agent.mjs')))
    writeFileSync(join(folder, 'client.mjs'), at(snippet('client.mjs')))
    const server = spawn(process.execPath, ['agent.mjs'], { cwd: folder })
    try {
      const ready = await new Promise<string>((done, fail) => {
        server.stdout.once('data', (chunk) => done(String(chunk)))
        server.stderr.once('data', (chunk) => fail(new Error(String(chunk))))
      })
      expect(ready).toContain(`Tailor is at http://127.0.0.1:${port}/`)
      const [, curl] = /```sh\n(curl [\s\S]*?)```/.exec(readme) ?? []
      const [, path] = /localhost:8001(\S*)/.exec(curl ?? '') ?? []
      const [, body] = /-d '([\s\S]*?)'/.exec(curl ?? '') ?? []
      const asked = await post(`http://127.0.0.1:${port}${path}`, body ?? '')
      expect(asked).toMatchObject({ task: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } })
      const answer = { messageId: 'm9', taskId: asked.task.id, role: 'ROLE_USER', parts: [{ text: 'large' }] }
      const done = await post(`http://127.0.0.1:${port}${path}`, JSON.stringify({ message: answer }))
      expect(done.task.artifacts).toHaveLength(2)
      expect(done.task.artifacts?.[0]?.parts.map((part) => part.text).join('')).toBe('A fine large suit ')
      expect(await run('client.mjs', folder)).toContain('TASK_STATE_INPUT_REQUIRED')
    } finally {
      server.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('stays short', () => {
    expect(readme.split('\n').length).toBeLessThan(150)
  })
})

interface Answer {
  readonly task: {
    readonly id: string
    readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[]
  }
}

async function post(url: string, body: string): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return (await response.json()) as Answer
}

function run(file: string, cwd: string): Promise<string> {
  return new Promise((done) => {
    const child = spawn(process.execPath, [file], { cwd })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += String(chunk)
    })
    child.on('exit', () => done(output))
  })
}
