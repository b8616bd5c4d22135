// Turns a topic into an outline: the first agent of the document chain.
import { agent, artifact, completed, data, failed, working } from 'dragoman'
import { inLanguageOf } from '../writing/language.ts'
import { createWriter } from '../writing/writer.ts'
import { serveWhenRun } from './serve-when-run.ts'

export function createOutlineAgent(writer = createWriter()) {
  return agent(
    {
      name: 'OutlineAgent',
      description: 'Turns a topic into an outline: a title and sections with points, as data',
      version: '1.0.0',
      skills: [
        {
          id: 'generate_outline',
          name: 'Generate an outline',
          description:
            'A topic as text; the outline comes back as {"topic", "title", "sections": [{"title", "brief", "points"}]}',
          tags: ['writing', 'outline'],
          examples: ['茉莉花茶', 'How to brew jasmine tea'],
          inputModes: ['text/plain'],
          outputModes: ['application/json'],
        },
      ],
      capabilities: { pushNotifications: true },
      onCrash: { attempts: 3 }, // a second attempt has no side effects
    },
    async function* ({ text, signal }) {
      const topic = text.trim()
      if (topic === '') yield failed('缺少主题：请用文字说明要写什么。 A topic is needed, as text.')
      yield working(inLanguageOf(topic, { zh: '正在拟定大纲…', en: 'Drafting an outline…' }))
      const outline = await writer.outline(topic, { signal })
      yield artifact('outline', data(outline), { lastChunk: true, metadata: { writer: writer.name } })
      yield completed(
        inLanguageOf(topic, {
          zh: `大纲《${outline.title}》已拟定，共 ${outline.sections.length} 节`,
          en: `The outline “${outline.title}” has ${outline.sections.length} sections`,
        }),
      )
    },
  )
}

export const port = 8001
const outlineAgent = createOutlineAgent()
export default outlineAgent
await serveWhenRun(import.meta, outlineAgent, { port })
