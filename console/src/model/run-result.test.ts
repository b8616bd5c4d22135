import { describe, expect, it } from 'vitest'
import { resultOf } from './run-result.js'
import type { ArtifactView } from './task-view.js'

const made = (id: string, text: string): ArtifactView => ({
  id,
  name: id,
  description: undefined,
  parts: [],
  blocks: text === '' ? [{ data: {} }] : [text],
  isWhole: true,
})

describe('resultOf()', () => {
  const steps = [made('outline/1', ''), made('document/1', '# A long text'), made('summary/1', 'Short.')]

  it('is the artifact that the run returned', () => {
    const own = made('result', 'Own')
    expect(resultOf([...steps, own])).toEqual({ main: own, others: steps })
  })

  it('is the longest text of a step if the run returned nothing', () => {
    const { main, others } = resultOf([made('workflow-graph', ''), ...steps])
    expect(main?.id).toBe('document/1')
    expect(others.map(({ id }) => id)).toEqual(['outline/1', 'summary/1'])
  })

  it('is undefined without artifacts', () => {
    expect(resultOf([]).main).toBeUndefined()
  })
})
