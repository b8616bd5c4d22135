// Handler functions: take over single operations and leave the rest to the engine.
//
// The community Go library asks for a struct of optional functions, one per method. Here that is wrapping:
// `wrap` gets the service of the engine and gives back one with some operations replaced. It holds for every
// dialect and binding at once; nothing in it knows which one a caller speaks.
import { A2AError, agent, serve, textOf, working } from 'dragoman'

/** @import { AgentService } from 'dragoman' */

/**
 * One operation, and the engine's own in case it is needed.
 * @template {keyof AgentService} Operation
 * @typedef {(
 *   request: Parameters<AgentService[Operation]>[0],
 *   context: Parameters<AgentService[Operation]>[1],
 *   next: AgentService[Operation],
 * ) => ReturnType<AgentService[Operation]>} Instead
 */

/**
 * The Go library's struct: all members optional, each answers in place of the engine and may still ask it.
 * @param {{ getTask?: Instead<'getTask'>, cancelTask?: Instead<'cancelTask'>, sendMessage?: Instead<'sendMessage'> }} functions
 * @returns {(service: AgentService) => AgentService}
 */
export function handlerFunctions({ getTask, cancelTask, sendMessage }) {
  return (service) => ({
    ...service,
    ...(getTask && { getTask: (request, context) => getTask(request, context, service.getTask) }),
    ...(cancelTask && { cancelTask: (request, context) => cancelTask(request, context, service.cancelTask) }),
    ...(sendMessage && { sendMessage: (request, context) => sendMessage(request, context, service.sendMessage) }),
  })
}

/** Reports are worked on for a while; what is signed cannot be called back. */
const reporter = agent('Reporter', async function* ({ text, signal }) {
  yield working('Writing…')
  if (text === 'slowly') await new Promise((resolve) => signal.addEventListener('abort', resolve))
  yield `Report on ${text}`
})

const counts = { reads: 0 }

export async function start() {
  return await serve(reporter, {
    dialects: ['v1', 'v0.3', 'v0.1', 'v0.1-go'],
    wrap: handlerFunctions({
      // tasks/get: the stored task, with a note of our own
      async getTask(request, context, next) {
        counts.reads += 1
        const task = await next(request, context)
        return { ...task, metadata: { ...task.metadata, reads: counts.reads, askedIn: context.dialect } }
      },
      // tasks/cancel: a rule before the engine is asked
      async cancelTask(request, context, next) {
        if (request.metadata?.reason === undefined) {
          throw new A2AError('TASK_NOT_CANCELABLE', 'Say why: metadata.reason')
        }
        return await next(request, context)
      },
      // tasks/send: no engine at all for one kind of message
      async sendMessage(request, context, next) {
        const isPing = textOf(request.message) === 'ping'
        if (!isPing) return await next(request, context)
        return { message: { messageId: `pong-${Date.now()}`, role: 'ROLE_AGENT', parts: [{ text: 'pong' }] } }
      },
    }),
  })
}
