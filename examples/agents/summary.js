// A document becomes a summary: the last agent of the chain.
import { agent, failed, working } from 'dragoman'
import { inLanguageOf } from '../writing/language.js'
import { createWriter } from '../writing/writer.js'
import { inPieces } from './in-pieces.js'
import { serveWhenRun } from './serve-when-run.js'

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
          description: 'Text or Markdown in, a short summary out',
          tags: ['writing', 'summary'],
          examples: ['（一篇文章的正文）'],
          inputModes: ['text/plain', 'text/markdown'],
          outputModes: ['text/plain'],
        },
      ],
      onCrash: { attempts: 3 },
    },
    async function* ({ text, signal }) {
      if (text.trim() === '') yield failed('缺少正文：请把要摘要的文章作为文字发来。 A text is needed to summarise.')
      yield working(inLanguageOf(text, { zh: '正在提炼摘要…', en: 'Summarising…' }))
      yield* inPieces('summary', writer.summary(text, { signal }), { metadata: { writer: writer.name } })
    },
  )
}

export const port = 8003
const summaryAgent = createSummaryAgent()
export default summaryAgent
await serveWhenRun(import.meta, summaryAgent, { port })
