import { describe, expect, it } from 'vitest'
import { sseFaults } from './sse-form.js'

describe('sseFaults', () => {
  it.each([
    '',
    'data: {"a":1}\n\n',
    ': heartbeat\n\nid: 1\nevent: message\nretry: 100\ndata: {}\n\n',
    'data: {"a":\r\ndata: 1}\r\n\r\n',
    'data:{}\n\nid\n\n',
  ])('finds nothing wrong with %j', (text) => {
    expect(sseFaults(text)).toEqual([])
  })

  it.each<[string, RegExp]>([
    ['{"a":1}\n\n', /no field of an event/],
    [' data: {}\n\n', /no field of an event/],
    ['data: {"a":\n\n', /no JSON/],
    ['data: [DONE]\n\n', /no JSON/],
    ['data: {}\n', /not ended by an empty line/],
    ['data: {}\n\ndata: {"a', /not ended by an empty line/],
  ])('sees what is wrong with %j', (text, fault) => {
    expect(sseFaults(text)).toEqual([expect.stringMatching(fault)])
  })

  it('says the same thing once', () => {
    expect(sseFaults('oops\n\noops\n\noops\n\n')).toHaveLength(1)
  })
})
