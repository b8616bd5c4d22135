/** Reads and follows the log of a task: from its first event if the agent has a log, else from the current task. */
import type { AgentClient, StreamItem } from 'dragoman/client'
import { useEffect, useMemo, useState } from 'react'
import { Signal } from '../../model/signal.js'
import { TaskView } from '../../model/task-view.js'
import { useConsole } from '../../server/console-context.js'

/** Events that arrive earlier were already in the log, so their time is unknown. */
const replayMs = 1500

export class TaskLog {
  readonly signal = new Signal()
  readonly view = new TaskView()
  error: unknown
  isFollowing = true
  again: () => void = () => undefined

  async follow(client: AgentClient, id: string, signal: AbortSignal): Promise<void> {
    const begun = performance.now()
    try {
      for await (const { event, seq } of fromTheBeginning(client, id, signal)) {
        const isLive = performance.now() - begun > replayMs
        this.view.apply(event, { seq, at: timeOf(event) ?? (isLive ? Date.now() : undefined) })
        this.signal.changed()
      }
    } catch (error) {
      if (signal.aborted) return
      this.error = error
    }
    this.isFollowing = false
    this.signal.changed()
  }
}

/** Agents without event numbers start with the task, or reject a subscription to an ended task. */
async function* fromTheBeginning(
  client: AgentClient,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<StreamItem, void, void> {
  let count = 0
  try {
    for await (const item of client.subscribeToTask({ id }, { signal, resumeAfter: 0 })) {
      count += 1
      yield item
    }
  } catch (error) {
    if (count > 0 || signal.aborted) throw error
    yield { event: { task: await client.getTask({ id }) } }
  }
}

export function useTaskLog(agent: string, taskId: string): TaskLog {
  const context = useConsole()
  const [attempt, setAttempt] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt begins with an empty log
  const log = useMemo(() => new TaskLog(), [attempt])
  log.again = () => setAttempt(attempt + 1)
  useEffect(() => {
    const left = new AbortController()
    context
      .client(agent)
      .then((client) => log.follow(client, taskId, left.signal))
      .catch(() => undefined) // `follow` stores the error
    return () => left.abort()
  }, [context, agent, taskId, log])
  return log
}

/** Only statuses have a timestamp. */
function timeOf(event: StreamItem['event']): number | undefined {
  const status = 'statusUpdate' in event ? event.statusUpdate.status : 'task' in event ? event.task.status : undefined
  const told = status?.timestamp === undefined ? Number.NaN : Date.parse(status.timestamp)
  return Number.isNaN(told) ? undefined : told
}
