// Turns an outline into a document: the second agent of the document chain.
import { agent, completed, failed, working } from 'dragoman'
import { inLanguageOf } from '../writing/language.ts'
import { readOutline } from '../writing/outline.ts'
import { createWriter } from '../writing/writer.ts'
import { serveWhenRun } from './serve-when-run.ts'
import { streamedArtifact } from './streamed-artifact.ts'

export function createDocAgent(writer = createWriter()) {
  return agent(
    {
      name: 'DocAgent',
      description: 'Writes the document of an outline in Markdown, streamed by section',
      version: '1.0.0',
      skills: [
        {
          id: 'generate_document',
          name: 'Write a document',
          description:
            'An outline as data; sections may be plain titles or {"title", "points"}. The document is text, and data: {"title", "document"}',
          tags: ['writing', 'document'],
          examples: ['请根据以下大纲生成文章正文'],
          inputModes: ['application/json', 'text/plain'],
          outputModes: ['text/markdown', 'application/json'],
        },
      ],
      capabilities: { pushNotifications: true },
      onCrash: { attempts: 3 },
    },
    async function* (turn) {
      const outline = readOutline(turn.data())
      if (!outline) {
        yield failed('缺少大纲：请在 data 零件中给出 sections。 An outline is needed, as a data part with sections.')
        return
      }
      yield working(
        inLanguageOf(outline.title, { zh: `正在撰写《${outline.title}》…`, en: `Writing “${outline.title}”…` }),
      )
      yield* streamedArtifact('document', writer.document(outline, { signal: turn.signal }), {
        description: outline.title,
        metadata: { writer: writer.name },
        toData: (document) => ({ title: outline.title, document }),
      })
      yield completed(
        inLanguageOf(outline.title, { zh: `《${outline.title}》已写完`, en: `“${outline.title}” is written` }),
      )
    },
  )
}

export const port = 8002
const docAgent = createDocAgent()
export default docAgent
await serveWhenRun(import.meta, docAgent, { port })
