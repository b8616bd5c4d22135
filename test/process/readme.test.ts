/** What the README shows runs. */
import { describe, expect, it } from 'vitest'
import { readPage, runSnippet, snippet, snippetFolder, startSnippet } from './snippets.js'

const readme = readPage('README.md')

describe('the README', () => {
  it('shows a server, a curl line and a client that work', { timeout: 60_000 }, async () => {
    using folder = snippetFolder()
    const port = 20_000 + (process.pid % 20_000)
    const at = (code: string) => code.replaceAll('8001', String(port))
    for (const name of ['agent.mjs', 'client.mjs']) folder.write(name, at(snippet(readme, name)))
    using server = startSnippet('agent.mjs', folder.path)
    expect(await server.ready).toContain(`Tailor is at http://127.0.0.1:${port}/`)
    const [, curl] = /```sh\n(curl [\s\S]*?)```/.exec(readme) ?? []
    const [, path] = /localhost:8001(\S*)/.exec(curl ?? '') ?? []
    const [, body] = /-d '([\s\S]*?)'/.exec(curl ?? '') ?? []
    const asked = await post(`http://127.0.0.1:${port}${path}`, body ?? '')
    expect(asked).toMatchObject({ task: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } })
    const answer = { messageId: 'm9', taskId: asked.task.id, role: 'ROLE_USER', parts: [{ text: 'large' }] }
    const done = await post(`http://127.0.0.1:${port}${path}`, JSON.stringify({ message: answer }))
    expect(done.task.artifacts).toHaveLength(2)
    expect(done.task.artifacts?.[0]?.parts.map((part) => part.text).join('')).toBe('A fine large suit ')
    expect(await runSnippet('client.mjs', folder.path)).toContain('TASK_STATE_INPUT_REQUIRED')
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
