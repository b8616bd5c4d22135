import fc from 'fast-check'
import { expect, it } from 'vitest'
import { addUsage, usage } from './usage.js'

it('costs are added without rounding', () => {
  const cents = fc.nat(1_000_000_000)
  fc.assert(
    fc.property(fc.array(cents, { minLength: 1, maxLength: 20 }), (amounts) => {
      const cost = (micros: number) => ({
        cost: { amount: `${Math.floor(micros / 1e6)}.${String(micros % 1e6).padStart(6, '0')}`, currency: 'USD' },
      })
      const total = amounts.reduce((sum, micros) => addUsage(sum, cost(micros)), {})
      const expected = amounts.reduce((sum, micros) => sum + micros, 0)
      expect(total).toEqual(cost(expected))
      expect(usage.read({ metadata: { [usage.key]: total as never } })).toEqual(total)
    }),
  )
  expect(addUsage({ cost: { amount: '1', currency: 'USD' } }, { cost: { amount: '0.05', currency: 'USD' } })).toEqual({
    cost: { amount: '1.05', currency: 'USD' },
  })
})

it('another currency and a total that is too large are refused', () => {
  const cost = (amount: string, currency = 'USD') => ({ cost: { amount, currency } })
  expect(() => addUsage(cost('1'), cost('1', 'EUR'))).toThrow('the currency of a task does not change')
  expect(() => addUsage(cost('9'.repeat(18)), cost('1'))).toThrow('The usage of the task is too large')
  const { MAX_SAFE_INTEGER: max } = Number
  expect(addUsage({ inputTokens: max }, { inputTokens: 5 })).toEqual({ inputTokens: max })
})
