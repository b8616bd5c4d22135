import type { AgentClient, Update } from 'dragoman/client'

export async function eventsOf<T>(stream: AsyncIterable<T>): Promise<readonly T[]> {
  const events: T[] = []
  for await (const event of stream) events.push(event)
  return events
}

/** The texts of the artifact updates that have one. */
export function textsOf(updates: readonly Update[]): readonly string[] {
  return updates.flatMap((update) => {
    const parts = 'artifactUpdate' in update ? update.artifactUpdate.artifact.parts : []
    return parts.flatMap((part) => ('text' in part && part.text !== '' ? [part.text] : []))
  })
}

/** Sends a message whose task keeps running, and returns the id of the task. */
export async function startedTask(client: AgentClient, text: string): Promise<string> {
  for await (const update of client.stream(text)) {
    if ('task' in update) return update.task.id
    if ('statusUpdate' in update) return update.statusUpdate.taskId
  }
  throw new Error('The agent created no task')
}
