import type { AcceptedMessage } from '../model/apply-event.js'
import { A2AError } from '../model/errors.js'
import type { Message } from '../model/message.js'
import type { JsonValue } from '../model/part.js'
import { textOf } from '../model/part.js'
import type { Caller } from '../model/service.js'
import type { Task } from '../model/task.js'
import type { Turn } from './agent.js'
import { callAgent } from './call-agent.js'
import type { Internals } from './internals.js'

export interface TurnStart {
  readonly accepted: AcceptedMessage
  readonly attempt: number
  readonly caller: Caller
  readonly tenant: string
  readonly signal: AbortSignal
  /** The data a schema made of the message, when the agent declares one. */
  readonly input: unknown
  /** The task and its history; looked at only if the handler does. */
  readonly task: () => Task
}

/** What a handler is given. Members that cost something are made when they are asked for. */
export function createTurn(internals: Internals, start: TurnStart): Turn<never> {
  const { accepted, attempt, caller, signal } = start
  const { message, request } = accepted
  let task: Task | undefined
  const turn: Turn<unknown> = {
    message,
    attempt,
    caller,
    signal,
    contextId: message.contextId ?? '',
    metadata: request?.metadata ?? {},
    acceptedOutputModes: request?.acceptedOutputModes ?? [],
    extensions: request?.extensions ?? [],
    get text() {
      return textOf(message)
    },
    get task() {
      task ??= start.task()
      return task
    },
    get history() {
      return turn.task.history ?? []
    },
    data: () => start.input,
    call(ref, content) {
      const service = internals.resolve?.(ref)
      const name = typeof ref === 'string' ? ref : ref.card.name
      if (!service) throw new A2AError('UNSUPPORTED_OPERATION', `No agent called ${name} can be reached from here`)
      return callAgent(service, { content, turn, tenant: start.tenant, newId: () => internals.clock.newId() })
    },
  }
  // `Handler<never>` hides the type of `data()`: the schema check has made it what the author declared.
  return turn as Turn<never>
}

export function firstData(message: Message): JsonValue | undefined {
  for (const part of message.parts) if ('data' in part) return part.data
  return undefined
}
