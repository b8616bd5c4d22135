/** Renders Markdown as React elements, never as HTML, so that text cannot inject markup. */
import MarkdownIt, { type Token } from 'markdown-it'
import { createElement, Fragment, type ReactNode, useMemo } from 'react'

const parser = new MarkdownIt({ html: false, linkify: true, breaks: true })

/** Tokens become elements; too many elements block the page. */
const maxTokens = 50_000
/** The parser searches for the end of a link after each of them. */
const maxBrackets = 20_000

/** Renders Markdown. Text that would take too long is shown as plain text. */
export default function Markdown({ text }: { readonly text: string }): ReactNode {
  const tokens = useMemo(() => parse(text), [text])
  return tokens ? <div className="markdown">{build(tokens)}</div> : <div className="plain">{text}</div>
}

function parse(text: string): readonly Token[] | undefined {
  if (text.split('[').length > maxBrackets) return undefined
  const tokens = parser.parse(text, {})
  return count(tokens) > maxTokens ? undefined : tokens
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

/** Converts the flat list of opening and closing tokens to elements. */
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
      // Remote images would reveal the reader to their servers, so only the alternative text is shown.
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
