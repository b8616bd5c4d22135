import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { agent, connect } from '../../src/index.js'
import { toolName, toolsOf } from '../../src/integrations/agent-tools.js'

describe('toolsOf', () => {
  it('returns a tool for each skill with a schema, and one that takes a message', async () => {
    const tailor = agent(
      {
        name: 'Maßschneider & Söhne',
        description: 'Makes suits',
        skills: [
          { id: 'cut', description: 'Cuts cloth', input: z.object({ cloth: z.string() }) },
          { id: 'advise', name: 'Advice', description: 'Answers questions' },
        ],
      },
      async function* () {},
    )
    await using client = await connect(tailor)
    expect(toolsOf(client).map(({ name, description, schema }) => ({ name, description, schema }))).toMatchObject([
      {
        name: 'Ma_schneider_Sohne_cut',
        description: 'Cuts cloth',
        schema: { type: 'object', properties: { cloth: { type: 'string' } }, required: ['cloth'] },
      },
      {
        name: 'Ma_schneider_Sohne',
        description: 'Makes suits\n- cut: Cuts cloth\n- Advice: Answers questions',
        schema: { type: 'object', required: ['message'] },
      },
    ])
  })

  it.each([
    ['Tailor', 'Tailor_2'],
    ['a'.repeat(70), `${'a'.repeat(62)}_2`],
    ['裁缝', 'agent_2'],
  ])('numbers the name %s when it is taken', (wanted, second) => {
    const taken = new Set<string>()
    toolName(wanted, taken)
    expect(toolName(wanted, taken)).toBe(second)
  })
})
