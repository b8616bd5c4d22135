import { A2AError } from '../../model/errors.js'
import type { EventBody } from '../../model/event.js'
import type { SendMessageResponse } from '../../model/service.js'
import type { Task } from '../../model/task.js'

/**
 * The answer of a run for the sender that began it. It equals the answer that `lastEvent` reads from the log, and saves
 * the reading, a quarter of the cost of a small call.
 */
export class FirstAnswer {
  #sender: { resolve(answer: SendMessageResponse | undefined): void; reject(error: A2AError): void } | undefined

  /** Resolves with `undefined` when the run ended without an answer; the log has it then. */
  wait(): Promise<SendMessageResponse | undefined> {
    return new Promise((resolve, reject) => {
      this.#sender = { resolve, reject }
    })
  }

  /** Only the first answer counts. `task` is absent while there is no task: nothing is answered then. */
  task(task: Task | undefined): void {
    if (!this.#sender || !task) return
    this.#sender.resolve({ task })
    this.#sender = undefined
  }

  /** The exchange ended as a Message or with an error. */
  withoutTask(body: EventBody): void {
    if ('message' in body) this.resolve({ message: body.message })
    if ('refused' in body) this.reject(new A2AError(body.refused.code, body.refused.message, body.refused.details))
  }

  resolve(answer: SendMessageResponse | undefined): void {
    this.#sender?.resolve(answer)
  }

  reject(error: A2AError): void {
    this.#sender?.reject(error)
  }
}
