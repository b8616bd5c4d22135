import { A2AError } from '../../model/errors.js'
import type { EventBody } from '../../model/event.js'
import type { SendMessageResponse } from '../../model/service.js'
import type { Task } from '../../model/task.js'

/**
 * The answer of a new run for the sender that started it. It equals the answer that the sender would read from the log, and
 * saves that read: a quarter of the cost of a small call.
 */
export class FirstAnswer {
  /** The first outcome counts. */
  #outcome: { readonly answer: SendMessageResponse | undefined } | { readonly error: A2AError } | undefined
  #sender: { resolve(answer: SendMessageResponse | undefined): void; reject(error: A2AError): void } | undefined

  /** Resolves with `undefined` when the run ended without an answer; the sender then reads the log. */
  wait(): Promise<SendMessageResponse | undefined> {
    return new Promise((resolve, reject) => {
      this.#sender = { resolve, reject }
      this.#tellSender()
    })
  }

  /** Answers with a task. */
  task(task: Task | undefined): void {
    if (task) this.resolve({ task })
  }

  /** Answers with the Message or the error of an exchange without a task. */
  withoutTask(body: EventBody): void {
    if ('message' in body) this.resolve({ message: body.message })
    if ('refused' in body) this.reject(new A2AError(body.refused.code, body.refused.message, body.refused.details))
  }

  resolve(answer: SendMessageResponse | undefined): void {
    this.#outcome ??= { answer }
    this.#tellSender()
  }

  reject(error: A2AError): void {
    this.#outcome ??= { error }
    this.#tellSender()
  }

  #tellSender(): void {
    if (!this.#outcome || !this.#sender) return
    if ('error' in this.#outcome) this.#sender.reject(this.#outcome.error)
    else this.#sender.resolve(this.#outcome.answer)
  }
}
