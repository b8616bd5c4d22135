/** A stream on one replica with a subscriber on another one: the delay of its events, and the takeover after a crash. */
import { type RpcAnswer, v1Message } from './dialects.ts'
import { lineBatches } from './lines.ts'

interface Replicas {
  readonly origin: string
  readonly other: string
}

export interface FollowOptions extends Replicas {
  readonly chunks: number
  readonly delayMs: number
}

export async function followOnReplica({
  origin,
  other,
  chunks,
  delayMs,
}: FollowOptions): Promise<{ lagsMs: number[] }> {
  const here = new Map<number, number>()
  const there = new Map<number, number>()
  let follow: Promise<void> | undefined
  const message = v1Message(`chunks ${chunks} ${delayMs}`)
  await readEvents(origin, { method: 'SendStreamingMessage', params: { message } }, (id, event) => {
    here.set(id, performance.now())
    const subscribe = { method: 'SubscribeToTask', params: { id: event.result?.task?.id } }
    follow ??= readEvents(other, subscribe, (each) => there.set(each, performance.now()))
  })
  await follow
  const lags = [...there].flatMap(([id, time]) => {
    const sent = here.get(id)
    return sent === undefined ? [] : [time - sent]
  })
  // The snapshot and the events that come with it do not depend on the notification.
  return { lagsMs: lags.slice(2) }
}

let nextEvent: Promise<void> | undefined

/** Starts a task on one replica and subscribes on the other one; resolves when both are done. */
export async function followSleepingTask({ origin, other }: Replicas): Promise<Record<string, never>> {
  const taskId = await new Promise<string>((resolve, reject) => {
    // The stream breaks when its replica ends, after `resolve`.
    const start = { method: 'SendStreamingMessage', params: { message: v1Message('sleep 600000') } }
    readEvents(origin, start, (_id, event) => {
      if (event.result?.task?.id) resolve(event.result.task.id)
    }).catch(reject)
  })
  await new Promise<void>((resolve, reject) => {
    let count = 0
    nextEvent = new Promise((resolveNext) => {
      readEvents(other, { method: 'SubscribeToTask', params: { id: taskId } }, () => {
        count += 1
        if (count === 1) resolve()
        else resolveNext()
      }).catch(reject)
    })
  })
  return {}
}

/** Resolves when the subscriber of `followSleepingTask` receives the next event of its task. */
export async function waitForTakeover(_options: Record<string, never>): Promise<Record<string, never>> {
  await nextEvent
  return {}
}

interface StreamCall {
  readonly method: string
  readonly params: object
}

type OnEvent = (id: number, event: RpcAnswer) => void

async function readEvents(origin: string, { method, params }: StreamCall, onEvent: OnEvent): Promise<void> {
  const response = await fetch(origin, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', accept: 'text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  let id = Number.NaN
  for await (const lines of lineBatches(response)) {
    for (const line of lines) {
      if (line.startsWith('id:')) id = Number(line.slice(3))
      if (line.startsWith('data:')) onEvent(id, JSON.parse(line.slice(5)))
    }
  }
}
