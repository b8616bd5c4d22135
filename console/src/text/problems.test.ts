import { expect, it } from 'vitest'
import { problemCode } from '../model/problem-code.js'
import { tellProblem } from './problems.js'

const silence = { code: 'INTERNAL_ERROR', details: { metadata: { failure: 'unreachable' } } }

it('tells readers of Chinese what kind a problem is, and everybody what was said of it', () => {
  const kind = problemCode(silence)
  expect(tellProblem('zh', kind, 'Nothing listens there')).toBe('无法连接到智能体（Nothing listens there）')
  expect(tellProblem('en', kind, 'Nothing listens there')).toBe('Nothing listens there')
})

it('says nothing of its own about kinds that it does not know', () => {
  for (const code of [undefined, 'constructor', problemCode({ code: 7 }), problemCode(undefined)])
    expect(tellProblem('zh', code, 'Strange')).toBe('Strange')
})
