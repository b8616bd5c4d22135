import { describe, expect, it } from 'vitest'
import { errorFacts, withoutSecrets } from './error-facts.js'

describe('withoutSecrets()', () => {
  it.each([
    ['postgres://ann:hunter2@db.example/tasks is away', 'postgres://ann:[redacted]@db.example/tasks is away'],
    ['http://ann:hun@ter2@x.example:1/ is away', 'http://ann:[redacted]@x.example:1/ is away'],
    ['sent Authorization: Bearer abc.def.ghi', 'sent Authorization: Bearer [redacted]'],
    ['sent Authorization: Basic YW5uOmh1bnRlcjI=', 'sent Authorization: Basic [redacted]'],
    ['GET https://x.example/?api_key=abc&q=1', 'GET https://x.example/?api_key=[redacted]&q=1'],
    ['at http://127.0.0.1:8001/ and a@b.example', 'at http://127.0.0.1:8001/ and a@b.example'],
    ['file:///srv/agent.js:12:3', 'file:///srv/agent.js:12:3'],
  ])('%s', (text, shown) => expect(withoutSecrets(text)).toBe(shown))
})

describe('errorFacts()', () => {
  it('contains the error and its causes without attached objects', () => {
    const cause = Object.assign(new Error('refused by postgres://ann:hunter2@db/x'), {
      code: 'ECONNREFUSED',
      config: { password: 'hunter2' },
    })
    const facts = errorFacts(new Error('The store failed', { cause }))
    expect(facts).toMatchObject({
      message: 'The store failed',
      cause: { message: 'refused by postgres://ann:[redacted]@db/x', code: 'ECONNREFUSED' },
    })
    expect(JSON.stringify(facts)).not.toContain('hunter2')
  })

  it('ends for circular causes', () => {
    const error = new Error('a')
    error.cause = error
    expect(JSON.stringify(errorFacts(error)).match(/"message"/g)).toHaveLength(5)
  })

  it('accepts thrown values that are not errors', () => {
    expect(errorFacts('oh')).toEqual({ message: 'oh' })
  })
})
