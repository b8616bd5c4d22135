import { A2AError, isTerminal, type TaskHandle, type Update } from '../client/index.js'

/** What becomes of a task. One that has ended cannot be followed: what it came to is shown. */
export async function* watchTask(task: TaskHandle, given: { readonly signal?: AbortSignal }): AsyncGenerator<Update> {
  try {
    yield* task.watch(given)
  } catch (error) {
    if (!(error instanceof A2AError && error.code === 'UNSUPPORTED_OPERATION')) throw error
    const now = await task.get()
    if (!isTerminal(now.status.state)) throw error
    yield { task: now }
  }
}
