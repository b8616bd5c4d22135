// Turns a topic into an outline, the outline into a document and the document into a summary, with three agents that it
// finds by name. The port also serves an HTTP API for front ends: see documents-api.ts.
import { failed } from 'dragoman'
import { workflow } from 'dragoman/orchestrator'
import { serveWhenRun } from '../agents/serve-when-run.ts'
import { inLanguageOf } from '../writing/language.ts'
import { documentsApi } from './documents-api.ts'

const name = 'DocumentWorkflow'

/** Retry on another instance, if there is one, when an agent is unreachable for this long. Steps have no side effects. */
const dependable = { retry: { attempts: 5 }, retryBudgetMs: 10_000 }

const documentWorkflow = workflow(
  {
    name,
    description: 'Writes a document with three agents: an outline, the text and a summary',
    version: '1.0.0',
    capabilities: { pushNotifications: true },
    skills: [
      {
        id: 'write_document',
        name: 'Write a document with outline and summary',
        description: 'A topic as text; the artifacts are `outline` (data), `document` (Markdown) and `summary` (text)',
        tags: ['writing', 'workflow', '写作', '文档'],
        examples: ['茉莉花茶', 'How to brew jasmine tea'],
        inputModes: ['text/plain'],
        outputModes: ['application/json', 'text/markdown', 'text/plain'],
      },
    ],
  },
  async (flow) => {
    const topic = flow.text.trim()
    if (topic === '') return failed('缺少主题：请用文字说明要写什么。 A topic is needed, as text.')
    const outline = await flow.step('outline', { agent: 'OutlineAgent', message: topic, ...dependable })
    const request = inLanguageOf(topic, {
      zh: '请根据以下大纲生成文章正文',
      en: 'Please write the document of this outline',
    })
    const document = await flow.step('document', { agent: 'DocAgent', message: [request, outline], ...dependable })
    await flow.step('summary', { agent: 'SummaryAgent', message: document, ...dependable })
    return undefined
  },
)

export default documentWorkflow
export const port = 8010
export const routes = [documentsApi(name)]
await serveWhenRun(import.meta, documentWorkflow, { port, routes })
