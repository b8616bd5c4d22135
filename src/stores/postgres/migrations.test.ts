import { hash } from 'node:crypto'
import { expect, it } from 'vitest'
import { migrations } from './migrations.js'

/**
 * Databases never repeat a step, so a released step must not be edited: add a step instead. Until the first release,
 * update the hash together with the step.
 */
it('knows every step of the schema by its hash', () => {
  expect(migrations.map((step) => hash('sha256', step).slice(0, 16))).toEqual([
    '8e8234cae588f77c',
    '02a13fd7b65c9e7e',
    '33020c112b97f3b3',
  ])
})
