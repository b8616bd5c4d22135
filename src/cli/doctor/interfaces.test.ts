import { describe, expect, it } from 'vitest'
import type { WireEntry } from '../../client/index.js'
import { notFoundFaults } from './interfaces.js'

function answer(binding: WireEntry['binding'], status: number | string, body?: unknown): WireEntry[] {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return [
    { direction: 'request', exchange: 'one', binding, what: 'a call' },
    { direction: 'response', exchange: 'one', binding, what: 'a call', status, body: text },
  ]
}

const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'TASK_NOT_FOUND' }
const rest = { error: { code: 404, status: 'NOT_FOUND', message: 'No task', details: [info] } }
const rpc = (error: object, more: object = {}) => ({ jsonrpc: '2.0', id: 1, error, ...more })

describe('notFoundFaults', () => {
  it.each<[string, WireEntry[], string]>([
    ['JSON-RPC', answer('JSONRPC', 200, rpc({ code: -32001, message: 'No task' })), '1.0'],
    ['JSON-RPC with details', answer('JSONRPC', 200, rpc({ code: -32001, message: 'No task', data: [info] })), '1.0'],
    [
      'JSON-RPC of 0.3 with details of any form',
      answer('JSONRPC', 200, rpc({ code: -32001, message: '', data: {} })),
      '0.3',
    ],
    ['HTTP+JSON', answer('HTTP+JSON', 404, rest), '1.0'],
    ['HTTP+JSON of 0.3 in any form', answer('HTTP+JSON', 404, 'not here'), '0.3'],
    ['gRPC', answer('GRPC', 'NOT_FOUND'), '1.0'],
  ])('accepts a correct answer: %s', (_, wire, version) => {
    expect(notFoundFaults(wire, version)).toEqual([])
  })

  it.each<[string, WireEntry[], RegExp]>([
    ['a wrong code', answer('JSONRPC', 200, rpc({ code: -32603, message: 'x' })), /-32603, expected -32001/],
    ['no error', answer('JSONRPC', 200, { jsonrpc: '2.0', id: 1, result: null }), /not a JSON-RPC error/],
    ['no JSON', answer('JSONRPC', 200, '<html>'), /not a JSON-RPC error/],
    ['another envelope', answer('JSONRPC', 200, rpc({ code: -32001, message: 'x' }, { jsonrpc: '1.0' })), /"2\.0"/],
    ['no message', answer('JSONRPC', 200, rpc({ code: -32001 })), /no message/],
    ['a wrong HTTP status', answer('HTTP+JSON', 500, rest), /500, expected 404/],
    ['a wrong gRPC status', answer('GRPC', 'UNKNOWN'), /"UNKNOWN", expected NOT_FOUND/],
  ])('takes %s for a problem', (_, wire, what) => {
    expect(notFoundFaults(wire, '1.0')[0]).toEqual({ verdict: 'problem', what: expect.stringMatching(what) })
  })

  it.each<[string, WireEntry[], RegExp]>([
    ['an HTTP error', answer('JSONRPC', 404, rpc({ code: -32001, message: 'x' })), /404, expected 200/],
    ['data that is not an array', answer('JSONRPC', 200, rpc({ code: -32001, message: 'x', data: {} })), /R-ERR-4/],
    ['a body without an error', answer('HTTP+JSON', 404, { detail: 'Not found' }), /R-ERR-5/],
    ['an error without its reason', answer('HTTP+JSON', 404, { error: { ...rest.error, details: [] } }), /R-ERR-2/],
  ])('takes %s for a warning', (_, wire, what) => {
    expect(notFoundFaults(wire, '1.0')).toEqual([{ verdict: 'warning', what: expect.stringMatching(what) }])
  })
})
