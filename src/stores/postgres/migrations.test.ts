import { hash } from 'node:crypto'
import { expect, it } from 'vitest'
import { migrations } from './migrations.js'

/**
 * Databases that have done a step never do it again: one that was released is changed by the next step, never by an
 * edit. Until the first release the hash changes together with the step.
 */
it('knows every step of the schema by its hash', () => {
  expect(migrations.map((step) => hash('sha256', step).slice(0, 16))).toEqual([
    '8e8234cae588f77c',
    '02a13fd7b65c9e7e',
    '33020c112b97f3b3',
  ])
})
