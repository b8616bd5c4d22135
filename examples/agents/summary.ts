// Turns a document into a summary: the last agent of the document chain.
import { agent, completed, failed, working } from 'dragoman'
import { inLanguageOf } from '../writing/language.ts'
import { sourceText } from '../writing/source-text.ts'
import { createWriter } from '../writing/writer.ts'
import { serveWhenRun } from './serve-when-run.ts'
import { streamedArtifact } from './streamed-artifact.ts'

export function createSummaryAgent(writer = createWriter()) {
  return agent(
    {
      name: 'SummaryAgent',
      description: 'Summarises a document, in its own language',
      version: '1.0.0',
      skills: [
        {
          id: 'generate_summary',
          name: 'Summarise a document',
          description: 'A document as text, or as data: {"document"}. The summary is text, and data: {"summary"}',
          tags: ['writing', 'summary'],
          examples: ['（一篇文章的正文）'],
          inputModes: ['text/plain', 'text/markdown', 'application/json'],
          outputModes: ['text/plain', 'application/json'],
        },
      ],
      capabilities: { pushNotifications: true },
      onCrash: { attempts: 3 },
    },
    async function* ({ message, signal }) {
      const text = sourceText(message)
      if (text === '') {
        yield failed(
          '缺少正文：请把文章作为文字发来，或放在 data 零件的 document 中。 A document is needed, as text or as a data part with document.',
        )
        return
      }
      yield working(inLanguageOf(text, { zh: '正在提炼摘要…', en: 'Summarising…' }))
      yield* streamedArtifact('summary', writer.summary(text, { signal }), {
        metadata: { writer: writer.name },
        toData: (summary) => ({ summary }),
      })
      yield completed(inLanguageOf(text, { zh: '摘要已完成', en: 'The summary is written' }))
    },
  )
}

export const port = 8003
const summaryAgent = createSummaryAgent()
export default summaryAgent
await serveWhenRun(import.meta, summaryAgent, { port })
