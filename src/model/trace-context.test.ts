import { describe, expect, it } from 'vitest'
import { readTraceContext, readTraceparent, readTracestate } from './trace-context.js'

const good = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

describe('readTraceparent()', () => {
  it('accepts a valid value, and the known part of a later version', () => {
    expect(readTraceparent(good)).toBe(good)
    const later = good.replace(/^00/, '01')
    expect(readTraceparent(`${later}-what-it-adds`)).toBe(later)
    expect(readTraceparent(later)).toBe(later)
  })

  it.each([
    undefined,
    null,
    '',
    'x',
    good.toUpperCase(),
    `${good}-more`,
    `${good}x`,
    good.replace(/^00/, 'ff'),
    good.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
    good.replace('b7ad6b7169203331', '0'.repeat(16)),
    `${good}\r\nx-injected: 1`,
    'a'.repeat(10_000),
  ])('drops %j', (given) => expect(readTraceparent(given)).toBeUndefined())
})

describe('readTracestate()', () => {
  it.each([
    ['congo=t61rcWkgMzE', 'congo=t61rcWkgMzE'],
    ['rojo=00f067aa0ba902b7, congo=x ,', 'rojo=00f067aa0ba902b7,congo=x'],
    ['fw529a3039@dt=FfAAAA', 'fw529a3039@dt=FfAAAA'],
  ])('accepts %j', (given, taken) => expect(readTracestate(given)).toBe(taken))

  it.each([
    undefined,
    null,
    '',
    ' , ',
    'congo',
    'Congo=1',
    'congo=',
    'congo=a=b',
    'congo=1\r\nx-injected: 1',
    'congo=\u00e9',
    Array.from({ length: 33 }, (_, n) => `k${n}=v`).join(','),
    `congo=${'x'.repeat(600)}`,
  ])('drops %j', (given) => expect(readTracestate(given)).toBeUndefined())

  it('is dropped without a `traceparent`', () => {
    const headers = new Map([['tracestate', 'congo=1']])
    const read = () => readTraceContext({ get: (name) => headers.get(name) ?? null })
    expect(read()).toEqual({})
    headers.set('traceparent', good)
    expect(read()).toEqual({ traceparent: good, tracestate: 'congo=1' })
  })
})
