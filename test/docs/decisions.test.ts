/** The decision about scaling shows the current output of the simulation. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { report } from '../../bench/group-commit.ts'

it('docs/decisions/0006 shows the output of bench/group-commit.ts', () => {
  const output = report()
  expect(output.split('\n')).toHaveLength(31)
  const page = readFileSync(
    new URL('../../docs/decisions/0006-scaling-beyond-one-database.md', import.meta.url),
    'utf8',
  )
  expect(page).toContain(`\`\`\`\n${output}\n\`\`\``)
})
