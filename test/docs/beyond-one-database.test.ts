/** What the simulation of group commits says is what the page says it says. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))

it('docs/decisions/0006 shows the output of bench/group-commit.mjs', () => {
  const said = execFileSync(process.execPath, [path('bench/group-commit.mjs')], { encoding: 'utf8' }).trim()
  expect(said.split('\n')).toHaveLength(31)
  const page = readFileSync(path('docs/decisions/0006-beyond-one-database.md'), 'utf8')
  expect(page).toContain(`\`\`\`\n${said}\n\`\`\``)
})
