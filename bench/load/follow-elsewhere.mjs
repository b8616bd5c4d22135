// A stream on one replica, followed on another: how much later does an event arrive there, and what if the one dies?
import { v1Message } from './dialects.mjs'

/** @param {{ origin: string, other: string, chunks: number, delayMs: number }} options */
export async function followElsewhere({ origin, other, chunks, delayMs }) {
  const here = new Map()
  const there = new Map()
  let taskId
  let follow
  await readEvents(
    origin,
    'SendStreamingMessage',
    { message: v1Message(`chunks ${chunks} ${delayMs}`) },
    (id, event) => {
      here.set(id, performance.now())
      taskId ??= event.result?.task?.id
      follow ??= readEvents(other, 'SubscribeToTask', { id: taskId }, (each) => there.set(each, performance.now()))
    },
  )
  await follow
  const lags = [...there].flatMap(([id, at]) => (here.has(id) ? [at - here.get(id)] : []))
  // The snapshot and what came with it are not about waking up.
  return { lagsMs: lags.slice(2) }
}

let next

/** Begins a task on one replica and follows it on another; resolves when both are so. @param {{ origin: string, other: string }} options */
export async function followSleeper({ origin, other }) {
  const taskId = await new Promise((resolve, reject) => {
    // Its stream breaks when its replica ends: that is what is waited for.
    readEvents(origin, 'SendStreamingMessage', { message: v1Message('sleep 600000') }, (_id, event) => {
      if (event.result?.task) resolve(event.result.task.id)
    }).catch(reject)
  })
  await new Promise((resolve, reject) => {
    let seen = 0
    next = new Promise((happened) => {
      readEvents(other, 'SubscribeToTask', { id: taskId }, () => {
        seen += 1
        if (seen === 1) resolve()
        else happened()
      }).catch(reject)
    })
  })
}

/** Resolves when the follower of `followSleeper` hears of its task again. */
export async function hearOfSleeper() {
  await next
}

async function readEvents(origin, method, params, onEvent) {
  const response = await fetch(origin, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', accept: 'text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  let rest = ''
  let id
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      if (line.startsWith('id:')) id = Number(line.slice(3))
      if (line.startsWith('data:')) onEvent(id, JSON.parse(line.slice(5)))
    }
  }
}
