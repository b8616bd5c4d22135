import { A2AError } from '../../model/errors.js'
import type { EventBody } from '../../model/event.js'
import type { SendMessageResponse } from '../../model/service.js'
import type { Task } from '../../model/task.js'

/**
 * The answer of a new run for the sender that started it. It equals the answer that the sender would read from the log, and
 * saves that read: a quarter of the cost of a small call.
 */
export class FirstAnswer {
  #sender: { resolve(answer: SendMessageResponse | undefined): void; reject(error: A2AError): void } | undefined

  /** Resolves with `undefined` when the run ended without an answer; the sender then reads the log. */
  wait(): Promise<SendMessageResponse | undefined> {
    return new Promise((resolve, reject) => {
      this.#sender = { resolve, reject }
    })
  }

  /** Answers with a task. Only the first answer counts. */
  task(task: Task | undefined): void {
    if (!this.#sender || !task) return
    this.#sender.resolve({ task })
    this.#sender = undefined
  }

  /** Answers with the Message or the error of an exchange without a task. */
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
