/** Wraps the operations of an agent and counts open streams, so that tests see leaks. */
import type { AgentService, CallContext, StreamItem } from 'dragoman'

export class WatchedCalls {
  /** Open streams and blocking sends. */
  open = 0
  /** Events passed to the transport. */
  pulled = 0

  readonly wrap = (service: AgentService): AgentService => ({
    ...service,
    sendMessage: async (request, context) => {
      this.open += 1
      try {
        return await service.sendMessage(request, context)
      } finally {
        this.open -= 1
      }
    },
    sendStreamingMessage: (request, context) => this.#watch(service.sendStreamingMessage, request, context),
    subscribeToTask: (request, context) => this.#watch(service.subscribeToTask, request, context),
  })

  async *#watch<Request>(
    follow: (request: Request, context: CallContext) => AsyncIterable<StreamItem>,
    request: Request,
    context: CallContext,
  ): AsyncGenerator<StreamItem, void, void> {
    this.open += 1
    try {
      for await (const item of follow(request, context)) {
        this.pulled += 1
        yield item
      }
    } finally {
      this.open -= 1
    }
  }
}
