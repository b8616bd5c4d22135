/** Tests of one direction of one framework: a cell of the table in docs/integrations/interop.md is one test. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

/** The columns of the table. */
const columns = ['ask', 'stream', 'question', 'cancel', 'file'] as const

/** A test that passes, or the reason why the other side cannot do it, with a test of that reason if it can be tested. */
type Cell = (() => Promise<void>) | { readonly reason: string; readonly check?: () => Promise<void> }

/** Runs the cells of a row, and checks that the page says the same. `peer` is the first cell: package, version, direction. */
export function interop(peer: string, cells: Readonly<Record<(typeof columns)[number], Cell>>): void {
  describe(peer, () => {
    for (const column of columns) {
      const cell = cells[column]
      if (typeof cell === 'function') it(column, cell)
      else if (cell.check) it(`${column}: ${cell.reason}`, cell.check)
    }

    it('is on the page', () => {
      const page = readFileSync(new URL('../../docs/integrations/interop.md', import.meta.url), 'utf8')
      const marks = columns.map((column) => (typeof cells[column] === 'function' ? 'yes' : 'no'))
      const reasons = columns.flatMap((column) => {
        const cell = cells[column]
        return typeof cell === 'function' ? [] : [`- ${peer}, ${column}: ${cell.reason}`]
      })
      const lines = page.split('\n')
      expect(lines.filter((line) => line.startsWith(`| ${peer} |`))).toEqual([`| ${peer} | ${marks.join(' | ')} |`])
      expect(lines.filter((line) => line.startsWith(`- ${peer}, `))).toEqual(reasons)
    })
  })
}
