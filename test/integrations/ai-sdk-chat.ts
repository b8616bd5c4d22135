/** `useChat` without React, for AI SDK 6 and 7: `AbstractChat` on a plain object. */
import type * as ai7 from 'ai'
import type { Ai } from './ai-sdk-payer.js'

type Message = ai7.UIMessage

/** A chat that is sent again when all questions and approvals are answered, as pages do it. */
export interface PlainChat {
  readonly chat: InstanceType<Ai['AbstractChat']>
  /** The messages, as a page would store them. */
  messages(): Message[]
  /** Resolves with the state in which the chat is idle. */
  idle(): Promise<string>
  /** Called for each change of the messages. */
  onChange: () => void
  readonly data: unknown[]
}

interface PlainChatOptions {
  readonly id: string
  readonly transport: ai7.ChatTransport<Message>
  readonly messages?: readonly Message[]
}

export function plainChat(ai: Ai, { id, transport, messages = [] }: PlainChatOptions): PlainChat {
  const waiters = new Set<() => void>()
  const changed = () => {
    plain.onChange()
    for (const wake of waiters) wake()
  }
  let status: ai7.ChatStatus = 'ready'
  let shown: Message[] = structuredClone([...messages])
  const state: ai7.ChatState<Message> = {
    get status() {
      return status
    },
    set status(value) {
      status = value
      changed()
    },
    error: undefined,
    get messages() {
      return shown
    },
    set messages(value) {
      shown = value
      changed()
    },
    pushMessage(message) {
      shown = [...shown, message]
      changed()
    },
    popMessage() {
      shown = shown.slice(0, -1)
      changed()
    },
    replaceMessage(index, message) {
      shown = shown.with(index, structuredClone(message))
      changed()
    },
    snapshot: (value) => structuredClone(value),
  }
  class Chat extends ai.AbstractChat<Message> {}
  const chat = new Chat({
    id,
    transport,
    state,
    onData: (part) => plain.data.push(part),
    sendAutomaticallyWhen: (options) =>
      ai.lastAssistantMessageIsCompleteWithToolCalls(options) ||
      ai.lastAssistantMessageIsCompleteWithApprovalResponses(options),
  })
  const plain: PlainChat = {
    chat,
    data: [],
    onChange: () => undefined,
    messages: () => structuredClone(shown),
    async idle() {
      for (;;) {
        // Requests that the chat sends by itself begin in a later microtask.
        await new Promise((resolve) => setImmediate(resolve))
        if (status === 'ready' || status === 'error') return status
        await new Promise<void>((resolve) => waiters.add(resolve))
      }
    },
  }
  return plain
}

/** The parts of a message in short. */
export function outline({ parts }: Message): string[] {
  return parts.map((part) => {
    if (part.type === 'text' || part.type === 'reasoning') return `${part.type}: ${part.text}`
    if (part.type === 'dynamic-tool') {
      const { toolName, state, output, errorText } = part
      const result = output === undefined ? (errorText ?? '') : JSON.stringify(output)
      return `${toolName} ${state} ${result}`.trim()
    }
    if ('data' in part) return `${part.type}: ${JSON.stringify(part.data)}`
    return part.type === 'file' ? `file ${part.mediaType}` : part.type
  })
}
