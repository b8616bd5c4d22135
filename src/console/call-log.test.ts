import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, vi } from 'vitest'
import type { WireEntry } from '../client/wire-log.js'
import { CallLog, type CallTarget } from './call-log.js'

const megabyte = 1024 * 1024
const facts: CallTarget = { ref: 'r', operation: 'sendMessage', dialect: 'v1', binding: 'JSONRPC', url: 'http://agent' }
const entry = (body: unknown, more: Partial<WireEntry> = {}): WireEntry => ({
  direction: 'event',
  exchange: 'one',
  binding: 'JSONRPC',
  what: 'w',
  body,
  ...more,
})
const newLog = () => new CallLog(() => undefined)
const bytesIn = (log: CallLog) => log.list({}).reduce((sum, { bytes }) => sum + bytes, 0)

describe('the call log', () => {
  it('keeps the beginning and the end of an endless call, and counts the omitted entries', () => {
    const log = newLog()
    const call = log.begin(facts)
    for (let count = 0; count < 200; count++) call.note(entry(`${count} ${'x'.repeat(megabyte / 2)}`))
    const { wire, left, lines, bytes } = call.view()
    expect(bytes).toBeLessThan(20 * megabyte)
    expect(bytes).toBeGreaterThan(4 * megabyte)
    expect(lines).toBe(200)
    expect(wire.length + left).toBe(200)
    expect([wire[0]?.body, wire.at(-1)?.body].map((body) => String(body).split(' ')[0])).toEqual(['0', '199'])
  })

  it('limits the number of lines, also of short ones', () => {
    const call = newLog().begin(facts)
    for (let count = 0; count < 30_000; count++) call.note(entry(String(count)))
    const { wire, left } = call.view()
    expect(wire.length).toBeLessThanOrEqual(12_000)
    expect(wire.length + left).toBe(30_000)
    expect([wire[0]?.body, wire.at(-1)?.body]).toEqual(['0', '29999'])
  })

  it('evicts the oldest calls when running calls grow', () => {
    const log = newLog()
    const calls = Array.from({ length: 12 }, () => log.begin(facts))
    for (let count = 0; count < 40; count++)
      for (const call of calls) {
        call.note(entry('x'.repeat(megabyte / 2)))
        expect(bytesIn(log)).toBeLessThanOrEqual(64 * megabyte)
      }
    expect(log.get(calls.at(-1)?.id ?? '')).toBe(calls.at(-1))
    // An evicted call stores nothing, although it continues.
    expect(calls.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(bytesIn(log))
    expect(log.list({}).length).toBeLessThan(12)
  })

  it('measures and clips bodies that are not text', () => {
    const call = newLog().begin(facts)
    const small = { text: 'hello', list: [1, null] }
    call.note(entry(small, { binding: 'GRPC' }))
    expect(call.view().wire[0]?.body).toEqual(small)
    const before = call.bytes
    call.note(entry({ text: 'x'.repeat(3 * megabyte) }, { binding: 'GRPC' }))
    expect(call.view().wire[1]?.body).toMatch(/^\{"text":"x+… \(\d+ characters in all\)$/)
    expect(call.bytes - before).toBeGreaterThan(megabyte / 2)
    expect(call.bytes - before).toBeLessThan(megabyte)
  })

  it('counts headers and URLs', () => {
    const call = newLog().begin(facts)
    call.note(entry(undefined, { what: 'x'.repeat(1000), headers: { a: 'x'.repeat(1000) } }))
    expect(call.bytes).toBeGreaterThan(2000)
  })

  it('does not keep clipped text in memory', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const used = () => {
      collect()
      const { heapUsed, external } = process.memoryUsage()
      return heapUsed + external
    }
    const call = newLog().begin(facts)
    const before = used()
    // Separate strings, as a socket delivers them.
    for (let count = 0; count < 10; count++)
      call.note(entry(Buffer.alloc(10 * megabyte, 97 + count).toString('latin1')))
    await vi.waitFor(() => expect(used() - before).toBeLessThan(50 * megabyte), 10_000)
    expect(call.view().wire).toHaveLength(10)
  })
})
