/** Runs the examples of the README. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { temporaryFolder } from './server-process.js'
import { readPage, runSnippet, snippet, snippetFolder, startSnippet, typeErrorsIn } from './snippets.js'
import { startSystem } from './system-process.js'

const readme = readPage('README.md')
const command = fileURLToPath(new URL('../../bin/dragoman.js', import.meta.url))

describe('the README', () => {
  it('shows a server, a curl line and a client that work', { timeout: 60_000 }, async () => {
    using folder = snippetFolder()
    const port = 20_000 + (process.pid % 20_000)
    const at = (code: string) => code.replaceAll('8001', String(port))
    const names = ['agent.ts', 'client.ts']
    for (const name of names) folder.write(name, at(snippet(readme, name)))
    expect(await typeErrorsIn(names, folder.path)).toBe('')
    using server = startSnippet('agent.ts', folder.path)
    expect(await server.ready).toContain(`Tailor is at http://localhost:${port}/`)
    const [, curl] = /```sh\n(curl [\s\S]*?)```/.exec(readme) ?? []
    const [, path] = /localhost:8001(\S*)/.exec(curl ?? '') ?? []
    const [, body] = /-d '([\s\S]*?)'/.exec(curl ?? '') ?? []
    const asked = await post(`http://127.0.0.1:${port}${path}`, body ?? '')
    expect(asked).toMatchObject({ task: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } })
    const answer = { messageId: 'm9', taskId: asked.task.id, role: 'ROLE_USER', parts: [{ text: 'large' }] }
    const done = await post(`http://127.0.0.1:${port}${path}`, JSON.stringify({ message: answer }))
    expect(done.task.artifacts).toHaveLength(2)
    expect(done.task.artifacts?.[0]?.parts.map((part) => part.text).join('')).toBe('A fine large suit ')
    expect(await runSnippet('client.ts', folder.path)).toContain('TASK_STATE_INPUT_REQUIRED')
  })

  it('shows calls of the demonstration that work', async () => {
    const calls = demonstrationOf(readPage('examples/README.md'), 'All agents at once')
    expect(calls).toHaveLength(expected.length)
    await using folder = await temporaryFolder()
    await using system = await startSystem(folder.path, ['--ports', 'auto', '--store', 'memory'])
    for (const [place, line] of calls.entries()) {
      const here = line
        .replace(/(?:http:\/\/)?localhost:(\d+)/, (_, port: string) => system.urlOf(defaultPorts[port] ?? port))
        .replace(/^npx dragoman /, `${JSON.stringify(process.execPath)} ${JSON.stringify(command)} `)
      const said = execFileSync('sh', ['-c', `json='content-type: application/json'\n${here}`], { encoding: 'utf8' })
      expect(said, line).toMatch(expected[place] ?? /never/)
    }
    const inReadme = demonstrationOf(readme, 'The demonstration')
    expect(inReadme.length).toBeGreaterThan(0)
    const withoutVariable = calls.map((line) => line.replace('"$json"', "'content-type: application/json'"))
    for (const line of inReadme) expect(withoutVariable).toContain(line)
  })

  it('has the same code, commands and tables in Chinese', () => {
    const chinese = readPage('README.zh-CN.md')
    // Only text and comments are translated; code and commands are the same.
    const codeOf = (page: string) =>
      [...page.matchAll(/```\w+\n([\s\S]*?)```/g)].map(([, code = '']) =>
        code.replace(/(^|\s)(#|\/\/ ).*$/gm, '').trim(),
      )
    expect(codeOf(chinese)).toEqual(codeOf(readme))
    const headingsOf = (page: string) => page.match(/^#+ /gm)
    expect(headingsOf(chinese)).toEqual(headingsOf(readme))
    const rowsOf = (page: string) => page.match(/^\|/gm)?.length
    expect(rowsOf(chinese)).toBe(rowsOf(readme))
  })

  it('stays short', () => {
    expect(readme.split('\n').length).toBeLessThan(150)
  })
})

const defaultPorts: Readonly<Record<string, string>> = {
  8000: 'ChatAgent',
  8010: 'DocumentWorkflow',
  8020: 'Registry',
  10006: 'OrderAgent',
}

/** The expected answer of each call of the demonstration, in order. */
const expected = [
  /"state":"completed".*"name":"outline".*# 茉莉花茶/,
  /"state":"completed","outline":\{.*"document":"# 茉莉花茶.*"summary":"/,
  /event: progress\n[\s\S]*event: result\ndata: \{"type":"result"/,
  /"output":"订单信息: ORDER_001, 产品: 云边茉莉/,
  /"messageDelta"[\s\S]*茉莉花茶[\s\S]*data: \[DONE\]/,
  /"name":"OutlineAgent"/,
  /# Solar power/,
]

function demonstrationOf(page: string, heading: string): readonly string[] {
  const [, code = ''] = /```sh\n([\s\S]*?)```/.exec(page.split(`## ${heading}`)[1] ?? '') ?? []
  return code.split('\n').filter((line) => /^(curl|npx) /.test(line))
}

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
