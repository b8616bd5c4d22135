/**
 * Option tables of the docs list exactly the options that functions accept. Functions name their options in the error
 * about an unknown one, so the tables are compared with the behaviour and not with a type.
 */
import { readFileSync } from 'node:fs'
import { agent, connect, serve } from 'dragoman'
import { createConsole } from 'dragoman/console'
import { fetchFile } from 'dragoman/net'
import { createHandler } from 'dragoman/server'
import { openPostgresStore } from 'dragoman/stores/postgres'
import { openSqliteStore } from 'dragoman/stores/sqlite'
import { describe, expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, root), 'utf8')

const handler = async function* () {
  yield ''
}
const echo = agent('Echo', handler)

/** A function of the package with the options of the test. */
type Call = (options: never) => unknown

const unknown = 'zzzzzzzzzzzz'

/** The options that a function names when it gets an unknown one: those of the function, or of one of its options. */
async function refusal(call: Call, options: object): Promise<{ owner: string; names: readonly string[] }> {
  try {
    await call(options as never)
  } catch (error) {
    const pattern = new RegExp(`^Unknown option of (.+): ${unknown}\\. Its options are (.+)$`)
    const [, owner, names] = pattern.exec((error as Error).message) ?? []
    if (owner !== undefined && names !== undefined) return { owner, names: names.split(', ') }
    return { owner: '', names: [] }
  }
  throw new Error('An unknown option was accepted')
}

const optionsOf = async (call: Call) => (await refusal(call, { [unknown]: 1 })).names

/** The names inside an option that is an object or a list of objects; none for others. */
async function namesInside(call: Call, option: string): Promise<readonly string[]> {
  const { owner: outside } = await refusal(call, { [unknown]: 1 })
  for (const value of [{ [unknown]: 1 }, [{ [unknown]: 1 }]]) {
    // The second unknown option ends calls that do not check the first one.
    const { owner, names } = await refusal(call, { [option]: value, [unknown]: 1 })
    if (owner.startsWith(`${outside}.${option}`)) return names
  }
  return []
}

function sectionBelow(page: string, heading: string): string {
  const [, below = ''] = page.split(new RegExp(`^#+ ${heading}$`, 'm'))
  const [section = ''] = below.split(/^#/m)
  return section
}

/** The cells of the table below a heading, by the option in the first one; rows with an empty cell do not count. */
function rowsBelow(page: string, heading: string): ReadonlyMap<string, string> {
  const rows = sectionBelow(page, heading).matchAll(/^\| `(\w+)(?:\([^`]*\))?` \| ((?=\S)[^|]+ \| (?=\S).*)$/gm)
  return new Map([...rows].map(([, name = '', cells = '']) => [name, cells]))
}

interface Table {
  readonly heading: string
  readonly call: Call
  /** The table lists the options that `createHandler` has too, or only the others. */
  readonly inHandler?: boolean
}

const card: Call = (options) => agent({ name: 'Echo', ...(options as object) }, handler)
const handlerOf: Call = (options) => createHandler(echo, options)
const serveWith: Call = (options) => serve(echo, options)
const connectWith: Call = (options) => connect('http://localhost:1', options)
const ask: Call = async (options) => {
  await using client = await connect(await createHandler(echo))
  return await client.ask('', options)
}

const pages: Readonly<Record<string, readonly Table[]>> = {
  'docs/console.md': [{ heading: 'In your own server', call: (options) => createConsole(options) }],
  'docs/client.md': [
    { heading: 'Options of `connect`', call: connectWith },
    { heading: 'Options of a call', call: ask },
  ],
  'docs/operating.md': [
    { heading: 'Options of the SQLite store', call: (options) => openSqliteStore(':memory:', options) },
    { heading: 'Options of the Postgres store', call: (options) => openPostgresStore('postgres://x', options) },
  ],
  'docs/serve.md': [
    { heading: "Members of an agent's card", call: card },
    { heading: 'Options of `createHandler` and `serve`', call: serveWith, inHandler: true },
    { heading: 'Options of `serve`', call: serveWith, inHandler: false },
    { heading: 'Agents', call: (options) => serve([{ agent: echo, ...(options as object) }]) },
    { heading: '`fetchFile`', call: (options) => fetchFile({ url: 'http://localhost:1' }, options) },
  ],
}

describe.each(Object.entries(pages))('%s', (path, tables) => {
  const page = read(path)

  it.each(tables)('has every option below $heading', async ({ heading, call, inHandler }) => {
    const shared = await optionsOf(handlerOf)
    const names = (await optionsOf(call)).filter(
      (name) => (inHandler ?? shared.includes(name)) === shared.includes(name),
    )
    const rows = rowsBelow(page, heading)
    const section = sectionBelow(page, heading)
    expect([...rows.keys()].filter((name) => !names.includes(name))).toEqual([])
    expect(names.filter((name) => !rows.has(name) && !section.includes(`\`${name}\``))).toEqual([])
    for (const name of names) await expectInside(rows.get(name) ?? section, call, name)
  })

  /** The members of an option are named where the option is, or have a table of their own. */
  async function expectInside(text: string, call: Call, name: string): Promise<void> {
    const names = await namesInside(call, name)
    if (names.every((member) => text.includes(member))) return
    const rows = rowsBelow(page, `\`${name}\``)
    expect([...rows.keys()].sort(), name).toEqual([...names].sort())
    const inside: Call = (options) => call({ [name]: options } as never)
    for (const member of names) await expectInside(rows.get(member) ?? '', inside, member)
  }
})

describe('serve', () => {
  it('has at most 20 top-level options, with the four that are planned', async () => {
    const planned = ['endpoints', 'preview', 'catalog', 'workers']
    const names = new Set([...(await optionsOf(serveWith)), ...planned])
    expect(names.size).toBeLessThanOrEqual(20)
    expect(names).toContain('advanced')
  })
})

describe('docs/serve.md', () => {
  it('has every member of a turn', () => {
    const [, body = ''] = /interface Turn\b[^{]*\{\n([\s\S]*?)\n\}/.exec(read('src/engine/agent.ts')) ?? []
    const members = [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, member = '']) => member)
    expect(members.length).toBeGreaterThan(5)
    expect([...rowsBelow(read('docs/serve.md'), 'Members of `turn`').keys()]).toEqual(expect.arrayContaining(members))
  })
})
