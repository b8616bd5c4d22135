/** The examples of docs/security.md run, in their order. */

import { readFileSync } from 'node:fs'
import * as dragoman from 'dragoman'
import * as auth from 'dragoman/auth'
import { describe, expect, it } from 'vitest'

const page = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8')
const [, section = ''] = /\n## Authentication\n([\s\S]*?)\n## /.exec(page) ?? []
const snippets = [...section.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code)

describe('docs/security.md', () => {
  it('shows agents that start and reject calls without credentials', async () => {
    expect(snippets.length).toBeGreaterThanOrEqual(5)
    const served: dragoman.Served[] = []
    const serve: typeof dragoman.serve = async (...args) => {
      const one = await dragoman.serve(...args)
      served.push(one)
      return one
    }
    // The examples share their constants; the imported names are parameters of the function.
    const code = snippets.join('\n').replaceAll(/^import .*$/gm, '')
    const imported = { ...dragoman, ...auth, serve }
    const AsyncFunction = (async () => undefined).constructor as FunctionConstructor
    try {
      await new AsyncFunction(...Object.keys(imported), code)(...Object.values(imported))
      expect(served).toHaveLength(snippets.length)
      for (const { url } of served) {
        expect((await fetch(`${url}tasks`)).status).toBe(401)
        expect((await fetch(`${url}.well-known/agent-card.json`)).status).toBe(200)
      }
    } finally {
      await Promise.all(served.map((one) => one.close({ deadlineMs: 0 })))
    }
  })
})
