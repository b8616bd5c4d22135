/** Calls of other agents by a handler. */
import { copyJson } from '../../model/copy-json.js'
import { A2AError } from '../../model/errors.js'
import { fromGeneric, toGeneric } from '../../model/generic-service.js'
import type { Message } from '../../model/message.js'
import { textOf } from '../../model/part.js'
import type { AgentService, CallContext, Caller } from '../../model/service.js'
import type { Task } from '../../model/task.js'
import { type TraceContext, traceContextOf } from '../../model/trace-context.js'
import type { AgentRef, CallAgentOptions, CallResult, Turn } from '../agent.js'
import { type Content, partsOf } from '../yields.js'

/** The owner and tenant of a task: calls of other agents are made for them. */
export interface TaskOwner {
  readonly caller: Caller
  readonly tenant: string
}

/** The operations of another agent, called for the owner and the tenant of a task. */
export function serviceFor(
  { resolve }: { readonly resolve: ((ref: AgentRef) => AgentService | undefined) | undefined },
  { caller, tenant }: TaskOwner,
  ref: AgentRef,
  trace: TraceContext = {},
): AgentService | undefined {
  const service = resolve?.(ref)
  if (!service) return undefined
  const { unary, streaming } = toGeneric(service)
  const owned = (context: CallContext): CallContext => ({
    ...traceContextOf(trace),
    ...context,
    caller,
    ...(tenant && { tenant }),
  })
  return fromGeneric({
    unary: (operation, request, context) => unary(operation, request, owned(context)),
    streaming: (operation, request, context) => streaming(operation, request, owned(context)),
  })
}

interface Delegation extends CallAgentOptions {
  readonly content: Content
  readonly turn: Turn<unknown>
  readonly newId: () => string
}

/** Sends a message to another agent in the same context. Cancelling the turn cancels the other task too. */
export async function callAgent(service: AgentService, delegation: Delegation): Promise<CallResult> {
  const { content, taskId, turn, newId } = delegation
  const message: Message = {
    messageId: newId(),
    contextId: turn.contextId,
    ...(taskId !== undefined && { taskId }),
    role: 'ROLE_USER',
    // Copied: this handler may change its value later.
    parts: copyJson(partsOf(content)),
    referenceTaskIds: [turn.task.id],
  }
  const context: CallContext = { caller: turn.caller }
  let child: string | undefined
  const cancelChild = () => {
    if (child !== undefined) service.cancelTask({ id: child }, context).catch(() => undefined) // it may have ended
  }
  turn.signal.addEventListener('abort', cancelChild)
  try {
    for await (const { event } of service.sendStreamingMessage({ message }, context)) {
      // The stream would stay open until the credential arrives, and only our caller can provide it.
      if ('statusUpdate' in event && event.statusUpdate.status.state === 'TASK_STATE_AUTH_REQUIRED') break
      // Results are copied too: they may be objects of the other agent's store.
      if ('message' in event) return { text: textOf(event.message), message: copyJson(event.message) }
      if ('task' in event) {
        child = event.task.id
        if (turn.signal.aborted) cancelChild()
      }
    }
    if (child === undefined) throw new A2AError('INVALID_AGENT_RESPONSE', 'The agent answered nothing')
    const task = await service.getTask({ id: child }, context)
    return { text: answerText(task), task: copyJson(task) }
  } catch (cause) {
    // Not an `A2AError`: an error of the other agent is not the error of this call.
    throw new Error('The call of another agent failed', { cause })
  } finally {
    turn.signal.removeEventListener('abort', cancelChild)
  }
}

function answerText(task: Task): string {
  if (task.artifacts) return task.artifacts.map(textOf).join('\n')
  return task.status.message ? textOf(task.status.message) : ''
}
