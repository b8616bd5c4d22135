// A stream on one replica, followed on another: how much later does an event arrive there?
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
