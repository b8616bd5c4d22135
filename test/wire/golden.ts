/**
 * Golden wire files: recorded messages of peers, stored as JSON under
 * `test/fixtures/wire/<dialect>/`. A file holds a list of cases of four kinds:
 *
 * - `{ shape, wire, model, reencoded? }`: an object of the protocol, decoded and encoded again;
 * - `{ call, params, request }`: a JSON-RPC method, route or rpc, and the request it decodes to;
 * - `{ result, params?, model, wire }`: an operation's result and its wire form;
 * - `{ stream, params?, items, frames }`: events of a stream and the frames they become.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Frame, OperationCodec, StreamCall, StreamEncoder } from '../../src/dialects/dialect.js'
import type { StreamResponse } from '../../src/model/event.js'
import type { Operation } from '../../src/model/operations.js'

/** Both directions of one object of the protocol. */
export interface Shape {
  decode(wire: unknown): unknown
  encode(model: never): unknown
}

interface GoldenForm {
  readonly shapes: Readonly<Record<string, Shape>>
  readonly operations: { readonly [O in Operation]?: Pick<OperationCodec, 'decode'> & { encode: unknown } }
  readonly operationOf: (call: string) => Operation | undefined
  readonly createStreamEncoder: (call: StreamCall) => StreamEncoder
}

type GoldenCase =
  | { shape: string; wire: unknown; model: unknown; reencoded?: unknown }
  | { call: string; params: unknown; request: unknown }
  | { result: Operation; params?: unknown; model: unknown; wire: unknown }
  | { stream: Operation; params?: unknown; items: StreamResponse[]; frames: (unknown | Frame)[] }

const folder = fileURLToPath(new URL('../fixtures/wire/', import.meta.url))

/** Runs every case of `test/fixtures/wire/<name>/`. Ids that a decoder generates are `id-1`, `id-2`, … */
export function goldenWire(name: string, form: GoldenForm): void {
  for (const file of readdirSync(`${folder}${name}`).sort()) {
    const cases = JSON.parse(readFileSync(`${folder}${name}/${file}`, 'utf8')) as GoldenCase[]
    describe(`${name}/${file}`, () => {
      for (const [place, each] of cases.entries()) it(titleOf(each, place), () => check(each, form))
    })
  }
}

function check(golden: GoldenCase, form: GoldenForm): void {
  const facts = { newId: numberedIds(), header: () => null }
  if ('shape' in golden) {
    const shape = form.shapes[golden.shape] as Shape // a fixture may name known shapes only
    expect(shape.decode(golden.wire)).toEqual(golden.model)
    expect(plain(shape.encode(golden.model as never))).toEqual(golden.reencoded ?? golden.wire)
  } else if ('call' in golden) {
    const operation = form.operationOf(golden.call)
    expect(operation && form.operations[operation]?.decode(golden.params, facts)).toEqual(golden.request)
  } else if ('result' in golden) {
    const encode = form.operations[golden.result]?.encode as (result: unknown, params: unknown) => unknown
    expect(plain(encode(golden.model, golden.params))).toEqual(golden.wire)
  } else {
    const encoder = form.createStreamEncoder({ operation: golden.stream, params: golden.params, newId: facts.newId })
    const frames = golden.items.flatMap((event) => spelled(encoder.encode({ event })))
    expect([...frames, ...spelled(encoder.end?.() ?? [])]).toEqual(golden.frames)
  }
}

/** Frames in the default envelope are compared by their data only. */
function spelled(frames: string | readonly Frame[]): unknown[] {
  if (typeof frames === 'string') return [JSON.parse(frames)]
  return frames.map((frame) => {
    const data = frame.data.startsWith('{') ? (JSON.parse(frame.data) as unknown) : frame.data
    return frame.event === undefined && !frame.isBare ? data : { ...frame, data }
  })
}

function plain(value: unknown): unknown {
  return typeof value === 'string' ? (JSON.parse(value) as unknown) : value
}

function titleOf(golden: GoldenCase, place: number): string {
  const [kind] = Object.entries(golden)[0] as [keyof GoldenCase, unknown]
  return `${place + 1}: ${kind} ${String(golden[kind])}`
}

function numberedIds(): () => string {
  let last = 0
  return () => `id-${++last}`
}
