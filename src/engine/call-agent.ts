/** One agent asks another: same context, and a cancel that reaches the child too. */
import { copyJson } from '../model/copy-json.js'
import { A2AError } from '../model/errors.js'
import { fromGeneric, toGeneric } from '../model/generic-service.js'
import type { Message } from '../model/message.js'
import { textOf } from '../model/part.js'
import type { AgentService, CallContext } from '../model/service.js'
import type { Task } from '../model/task.js'
import { type TraceContext, traceContextOf } from '../model/trace-context.js'
import type { AgentRef, CallResult, Turn } from './agent.js'
import type { TurnSource } from './turn.js'
import { type Content, partsOf } from './yields.js'

interface Delegation {
  readonly content: Content
  /** The task to go on with. */
  readonly taskId?: string
  readonly turn: Turn<unknown>
  readonly newId: () => string
}

/** Another agent's operations as the caller of a turn may use them: same owner, same tenant. */
export function serviceFor(
  { internals, caller, tenant }: Pick<TurnSource, 'internals' | 'caller' | 'tenant'>,
  ref: AgentRef,
  trace: TraceContext = {},
): AgentService | undefined {
  const service = internals.resolve?.(ref)
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

export async function callAgent(service: AgentService, delegation: Delegation): Promise<CallResult> {
  const { content, taskId, turn, newId } = delegation
  const message: Message = {
    messageId: newId(),
    contextId: turn.contextId,
    ...(taskId !== undefined && { taskId }),
    role: 'ROLE_USER',
    // The called agent keeps them: this handler may go on changing its own.
    parts: copyJson(partsOf(content)),
    referenceTaskIds: [turn.task.id],
  }
  const context: CallContext = { caller: turn.caller, dialect: 'v1' }
  let child: string | undefined
  const cancelChild = () => {
    if (child !== undefined) service.cancelTask({ id: child }, context).catch(() => undefined) // it may have ended meanwhile
  }
  turn.signal.addEventListener('abort', cancelChild)
  try {
    for await (const { event } of service.sendStreamingMessage({ message }, context)) {
      // Such a stream stays open until somebody brings the credential; that is for our caller to do.
      if ('statusUpdate' in event && event.statusUpdate.status.state === 'TASK_STATE_AUTH_REQUIRED') break
      if ('message' in event) return { text: textOf(event.message), message: event.message }
      if ('task' in event) {
        child = event.task.id
        if (turn.signal.aborted) cancelChild()
      }
    }
    if (child === undefined) throw new A2AError('INVALID_AGENT_RESPONSE', 'The agent answered nothing')
    const task = await service.getTask({ id: child }, context)
    return { text: answerText(task), task }
  } catch (cause) {
    // What went wrong between us and that agent is not an error of the call we are answering.
    throw new Error('The call of another agent failed', { cause })
  } finally {
    turn.signal.removeEventListener('abort', cancelChild)
  }
}

function answerText(task: Task): string {
  if (task.artifacts) return task.artifacts.map(textOf).join('\n')
  return task.status.message ? textOf(task.status.message) : ''
}
