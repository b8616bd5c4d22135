// A conversation that calls several agents. The handler yields only chunks of its answer, so that a stream reads as one
// text. It reads earlier messages from its own tasks, so that a conversation survives a restart.
import { agent, ask, isInterrupted, type Turn } from 'dragoman'
import type { CallResult } from 'dragoman/engine'
import { inLanguageOf } from '../writing/language.ts'
import { createWriter } from '../writing/writer.ts'
import { routeOf } from './chat-routes.ts'
import { conversation } from './earlier-tasks.ts'
import { serveWhenRun } from './serve-when-run.ts'

const name = 'ChatAgent'

/** Checkpoint that holds the open question of another agent. The answer goes to the same task. */
const openQuestion = 'asked by'

const cancelWords = /^\s*(?:算了|不用了|不查了|取消|never ?mind|forget it|cancel)/i

export function createChatAgent(writer = createWriter()) {
  return agent(
    {
      name,
      description: 'Holds a conversation and calls the order agent or the document workflow when needed',
      version: '1.0.0',
      capabilities: { pushNotifications: true },
      skills: [
        {
          id: 'chat',
          name: 'Conversation',
          description: 'Orders, documents, and small talk, in Chinese and English',
          tags: ['chat', '对话'],
          examples: ['查询订单 ORDER_001', '写一篇关于茉莉花茶的文章', 'Hello!'],
        },
      ],
      defaultInputModes: ['text/plain', 'application/json'],
      defaultOutputModes: ['text/plain', 'application/json'],
    },
    async function* (turn) {
      const earlier = await conversation(turn)
      const open = turn.checkpoints.get(openQuestion) as { agent: string; taskId: string } | undefined
      if (open && cancelWords.test(turn.text)) {
        await turn.service(open.agent)?.cancelTask({ id: open.taskId }, { caller: turn.caller })
        yield inLanguageOf(turn.text, { zh: '好的，那就算了。', en: 'All right, never mind then.' })
        return
      }
      const route = open ? { to: open.agent, say: turn.text, taskId: open.taskId } : routeOf(turn.text, earlier)
      if (!('say' in route)) {
        yield* writer.chat([...earlier, { role: 'user', text: turn.text }], { signal: turn.signal })
        return
      }
      const { task, text } = await askOther(turn, route)
      if (task && isInterrupted(task.status.state)) {
        await turn.checkpoint(openQuestion, { agent: route.to, taskId: task.id })
        yield ask(text)
      }
      yield* paragraphs(text.trimStart()) // artifacts without text leave empty lines
    },
  )
}

/** Calls another agent. If it cannot be reached, the conversation continues without it. */
async function askOther(
  turn: Turn,
  { to, say, taskId }: { to: string; say: string; taskId?: string },
): Promise<CallResult> {
  try {
    return await turn.call(to, say, taskId === undefined ? {} : { taskId })
  } catch {
    turn.signal.throwIfAborted()
    // The other agent may have lost the task with the question: start a new one.
    if (taskId !== undefined) return await askOther(turn, { to, say })
    const text = inLanguageOf(turn.text, {
      zh: `我联系不上 ${to}，请稍后再试。`,
      en: `I cannot reach ${to} at the moment; please try again later.`,
    })
    return { text }
  }
}

function paragraphs(text: string) {
  return text.split(/(?<=\n)(?=[^\n])/)
}

export const port = 8000
/** Clients of the dialect `chat-rpc` call the `url` of this card, which they find in a registry or at the agent. */
export const card = 'chat-rpc'
const chatAgent = createChatAgent()
export default chatAgent
await serveWhenRun(import.meta, chatAgent, { port, card })
