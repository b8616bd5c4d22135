import { expect, it } from 'vitest'
import { problemCode } from '../model/problem-code.js'
import { describeProblem } from './problems.js'

const silence = { code: 'INTERNAL_ERROR', details: { metadata: { failure: 'unreachable' } } }

it('adds the kind of error in Chinese, and keeps the message in all languages', () => {
  const kind = problemCode(silence)
  expect(describeProblem('zh', kind, 'Nothing listens there')).toBe('无法连接到智能体（Nothing listens there）')
  expect(describeProblem('en', kind, 'Nothing listens there')).toBe('Nothing listens there')
})

it('returns the message alone for unknown kinds', () => {
  for (const code of [undefined, 'constructor', problemCode({ code: 7 }), problemCode(undefined)])
    expect(describeProblem('zh', code, 'Strange')).toBe('Strange')
})
