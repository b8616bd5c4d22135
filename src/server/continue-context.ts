/**
 * For dialects whose callers know a conversation but no task: a message without a task answers the one
 * question that is open in its context. With two open questions nobody can tell which is meant, and the
 * message begins a task of its own.
 */
import type { AgentService, CallContext, SendMessageRequest, StreamItem } from '../model/service.js'
import type { TaskState } from '../model/task.js'

const open: readonly TaskState[] = ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED']

export function continueContext(service: AgentService): AgentService {
  const addressed = async (request: SendMessageRequest, context: CallContext): Promise<SendMessageRequest> => {
    const { taskId, contextId } = request.message
    if (taskId !== undefined || contextId === undefined) return request
    const pages = await Promise.all(
      open.map((status) =>
        service.listTasks({ contextId, status, pageSize: 2, historyLength: 0 }, withoutTraits(context)),
      ),
    )
    const [only, ...others] = pages.flatMap(({ tasks }) => tasks)
    if (!only || others.length > 0) return request
    return { ...request, message: { ...request.message, taskId: only.id } }
  }
  return {
    ...service,
    sendMessage: async (request, context) =>
      await service.sendMessage(context.continuesContext ? await addressed(request, context) : request, context),
    sendStreamingMessage: (request, context) =>
      context.continuesContext
        ? continued(service, addressed(request, context), context)
        : service.sendStreamingMessage(request, context),
  }
}

async function* continued(
  service: AgentService,
  request: Promise<SendMessageRequest>,
  context: CallContext,
): AsyncGenerator<StreamItem, void, void> {
  yield* service.sendStreamingMessage(await request, context)
}

/** The look-up is not the call: it neither repeats its key nor resumes its stream. */
function withoutTraits({ caller, tenant, dialect }: CallContext): CallContext {
  return { caller, ...(tenant !== undefined && { tenant }), ...(dialect !== undefined && { dialect }) }
}
