import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import Markdown from './markdown.js'

const shown = (text: string) => renderToStaticMarkup(createElement(Markdown, { text }))

describe('Markdown', () => {
  it('becomes elements', () => {
    expect(shown('a **b**')).toBe('<div class="markdown"><p>a <strong>b</strong></p></div>')
  })

  it.each([
    ['elements', 'a\n\n'.repeat(60_000)],
    ['cells', `${'|a'.repeat(1000)}\n${'|-'.repeat(1000)}\n${`${'|'.repeat(1001)}\n`.repeat(50)}`],
    ['brackets', '['.repeat(200_000)],
  ])('with too many %s is shown as plain text', (_, text) => {
    expect(shown(text)).toBe(`<div class="plain">${text}</div>`)
  })
})
