/** Every text of the page is in the message catalogs of all languages. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'vite'
import { describe, expect, it } from 'vitest'
import { en } from './en.js'
import { zh } from './zh.js'

type Node = { readonly type?: string; readonly [member: string]: unknown }

const folder = fileURLToPath(new URL('..', import.meta.url))
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.tsx'))

/** Attributes that users see or hear. */
const shown = new Set(['title', 'placeholder', 'alt', 'label', 'text', 'question', 'aria-label', 'aria-valuetext'])

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null
}

/** The literal texts of a JSX expression. */
function* literals(node: unknown): Generator<string> {
  if (!isNode(node)) return
  switch (node.type) {
    case 'JSXText':
    case 'Literal':
      if (typeof node.value === 'string') yield node.value
      return
    case 'TemplateLiteral':
      for (const quasi of node.quasis as readonly { readonly value: { readonly raw: string } }[]) yield quasi.value.raw
      return
    case 'JSXExpressionContainer':
      yield* literals(node.expression)
      return
    case 'ConditionalExpression':
      yield* literals(node.consequent)
      yield* literals(node.alternate)
      return
    case 'LogicalExpression':
      yield* literals(node.left)
      yield* literals(node.right)
      return
    case 'BinaryExpression':
      if (node.operator !== '+') return
      yield* literals(node.left)
      yield* literals(node.right)
  }
}

/** All nodes of a file that render text. */
function* places(node: unknown): Generator<unknown> {
  if (!isNode(node)) return
  if (node.type === 'JSXElement' || node.type === 'JSXFragment') yield* node.children as readonly unknown[]
  if (node.type === 'JSXAttribute' && shown.has((node.name as { readonly name: string }).name)) yield node.value
  for (const member of Object.values(node)) {
    if (Array.isArray(member)) for (const each of member) yield* places(each)
    else yield* places(member)
  }
}

function wordsIn(path: string, source: string): string[] {
  const { program } = parseSync(path, source)
  return [...places(program)].flatMap((place) => [...literals(place)]).filter((text) => /\p{L}/u.test(text))
}

describe('the texts of the page', () => {
  it.each(sources)('%s contains no literal text', (path) => {
    expect(wordsIn(path, readFileSync(`${folder}/${path}`, 'utf8'))).toEqual([])
  })

  it('are found in all JSX positions', () => {
    const source = `const a = <p title="One" className="no">Two {b ? 'Three' : c && \`Four \${d}\`} <i aria-label={'Five'} /></p>`
    expect(wordsIn('a.tsx', source).map((word) => word.trim())).toEqual(['Two', 'Three', 'Four', 'One', 'Five'])
  })

  it('exist in Chinese for every key', () => {
    const [english, chinese] = [entriesOf(en), entriesOf(zh)]
    expect([...chinese.keys()]).toEqual([...english.keys()])
    const same = [...english].filter(([name, text]) => chinese.get(name) === text && /[a-z]{2}/i.test(text))
    expect(same.map(([name]) => name)).toEqual([])
    expect([...chinese].filter(([, text]) => !/\p{Script=Han}/u.test(text)).map(([name]) => name)).toEqual([])
  })
})

function entriesOf(dictionary: object, path = ''): Map<string, string> {
  return new Map(
    Object.entries(dictionary).flatMap(([name, value]: [string, unknown]) => {
      const place = path === '' ? name : `${path}.${name}`
      if (typeof value === 'string') return [[place, value] as const]
      // Covers singular and plural.
      if (typeof value === 'function') return [[place, `${value(1, 2)} ${value(2, 2)}`] as const]
      return [...entriesOf(value as object, place)]
    }),
  )
}
