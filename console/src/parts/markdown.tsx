/**
 * Markdown as elements. No HTML is made on the way, so that nothing in a text can become a part of the page; the
 * page's policy forbids it anyway.
 */
import MarkdownIt, { type Token } from 'markdown-it'
import { createElement, Fragment, type ReactNode, useMemo } from 'react'

const parser = new MarkdownIt({ html: false, linkify: true, breaks: true })

/** Tokens become elements, and a page with too many of them stands still. */
const mostTokens = 50_000
/** The parser looks for the end of a link behind each of them. */
const mostBrackets = 20_000

/** Text that would keep the page busy for long is shown as it was written. */
export default function Markdown({ text }: { readonly text: string }): ReactNode {
  const tokens = useMemo(() => parse(text), [text])
  return tokens ? <div className="markdown">{build(tokens)}</div> : <div className="plain">{text}</div>
}

function parse(text: string): readonly Token[] | undefined {
  if (text.split('[').length > mostBrackets) return undefined
  const tokens = parser.parse(text, {})
  return count(tokens) > mostTokens ? undefined : tokens
}

function count(tokens: readonly Token[]): number {
  return tokens.reduce((sum, { children }) => sum + 1 + (children ? count(children) : 0), 0)
}

interface Open {
  readonly tag: string
  readonly props: Readonly<Record<string, unknown>>
  readonly children: ReactNode[]
}

const known = new Set('p h1 h2 h3 h4 h5 h6 ul ol li blockquote table thead tbody tr th td em strong s a'.split(' '))

/** Tokens come as a flat list of openings and closings. */
function build(tokens: readonly Token[]): ReactNode {
  const root: Open = { tag: '', props: {}, children: [] }
  const open: Open[] = [root]
  for (const token of tokens) {
    const inner = open.at(-1) ?? root
    if (token.nesting === 1) open.push({ tag: token.tag, props: propsOf(token), children: [] })
    else if (token.nesting === -1) {
      const done = open.pop() ?? root
      const outer = open.at(-1) ?? root
      outer.children.push(finish(done, outer.children.length))
    } else inner.children.push(leaf(token, inner.children.length))
  }
  return <Fragment>{root.children}</Fragment>
}

function finish({ tag, props, children }: Open, key: number): ReactNode {
  return createElement(known.has(tag) ? tag : 'span', { ...props, key }, ...children)
}

function leaf(token: Token, key: number): ReactNode {
  switch (token.type) {
    case 'inline':
      return <Fragment key={key}>{build(token.children ?? [])}</Fragment>
    case 'text':
      return token.content
    case 'softbreak':
    case 'hardbreak':
      return <br key={key} />
    case 'code_inline':
      return <code key={key}>{token.content}</code>
    case 'fence':
    case 'code_block':
      return (
        <pre key={key} tabIndex={0}>
          <code>{token.content}</code>
        </pre>
      )
    case 'hr':
      return <hr key={key} />
    case 'image':
      // Pictures from elsewhere would tell their servers who reads: their words stand for them.
      return <span key={key}>🖼 {token.content || token.attrGet('src')}</span>
    default:
      return token.content
  }
}

function propsOf(token: Token): Readonly<Record<string, unknown>> {
  if (token.tag === 'a') {
    const href = String(token.attrGet('href') ?? '')
    return /^(https?:|mailto:)/i.test(href) ? { href, target: '_blank', rel: 'noreferrer noopener' } : {}
  }
  if (token.tag === 'ol') return { start: Number(token.attrs?.find(([name]) => name === 'start')?.[1] ?? 1) }
  return {}
}
