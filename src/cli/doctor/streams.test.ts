import { describe, expect, it } from 'vitest'
import { sseFaults } from './streams.js'

describe('sseFaults', () => {
  it.each([
    '',
    'data: {"a":1}\n\n',
    ': heartbeat\n\nid: 1\nevent: message\nretry: 100\ndata: {}\n\n',
    'data: {"a":\r\ndata: 1}\r\n\r\n',
    'data:{}\n\nid\n\n',
  ])('accepts %j', (text) => {
    expect(sseFaults(text)).toEqual([])
  })

  it.each<[string, RegExp]>([
    ['{"a":1}\n\n', /not a field of an event/],
    [' data: {}\n\n', /not a field of an event/],
    ['data: {"a":\n\n', /not JSON/],
    ['data: [DONE]\n\n', /not JSON/],
    ['data: {}\n', /no empty line after the last event/],
    ['data: {}\n\ndata: {"a', /no empty line after the last event/],
  ])('rejects %j', (text, fault) => {
    expect(sseFaults(text)).toEqual([expect.stringMatching(fault)])
  })

  it('reports each kind of fault once', () => {
    expect(sseFaults('oops\n\noops\n\noops\n\n')).toHaveLength(1)
  })
})
