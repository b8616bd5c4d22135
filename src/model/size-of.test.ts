import { expect, it } from 'vitest'
import { sizeOf } from './size-of.js'

it('is close to the length of the JSON text, wherever the content is', () => {
  const long = 'x'.repeat(1000)
  const values = [long, [long, long], { metadata: { deep: [{ deeper: long }] } }, { [long]: 1 }, [1, true, null, {}]]
  for (const value of values) expect(Math.abs(sizeOf(value) - JSON.stringify(value).length)).toBeLessThan(30)
})

it('accepts values of any depth', () => {
  let deep: unknown = 'core'
  for (let depth = 0; depth < 100_000; depth++) deep = [deep]
  expect(sizeOf(deep)).toBe(200_007)
})

it('stops above the given size', () => {
  const parts = [{ text: 'x' }, { text: 'x'.repeat(100) }]
  expect(sizeOf(parts, 50)).toBeLessThan(sizeOf(parts))
})

it('counts control characters of long texts as JSON encodes them', () => {
  const text = '\u0001\n'.repeat(1000)
  expect(sizeOf(text)).toBeGreaterThan(6000)
  expect(sizeOf(text)).toBeLessThanOrEqual(JSON.stringify(text).length)
})
