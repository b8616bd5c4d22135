/** A webhook on a real socket with configurable responses. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { until } from 'dragoman/testing'

export interface Call {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

/** The response of a call; without one the call hangs until the hook is closed. */
export type Answer = (call: Call, response: ServerResponse, count: number) => void | Promise<void>

export interface Hook extends AsyncDisposable {
  readonly url: string
  /** All calls, in the order of their arrival. */
  readonly calls: readonly Call[]
  /** Calls in progress, and their maximum. */
  readonly open: { now: number; max: number }
  answer: Answer
  /** Resolves when this many calls have arrived. */
  received(count: number, deadlineMs?: number): Promise<readonly Call[]>
}

export const ok: Answer = (_call, response) => void response.writeHead(200).end()
export const hang: Answer = () => undefined
export const answerWith =
  (status: number, headers: Record<string, string> = {}): Answer =>
  (_call, response) =>
    void response.writeHead(status, headers).end()

/** Answers the first calls in order, and all later ones with 200. */
export function inTurn(...answers: readonly Answer[]): Answer {
  return (call, response, count) => (answers[count] ?? ok)(call, response, count)
}

export async function openHook(answer: Answer = ok): Promise<Hook> {
  const calls: Call[] = []
  const open = { now: 0, max: 0 }
  let count = 0
  const server = createServer(async (request, response) => {
    open.now += 1
    open.max = Math.max(open.max, open.now)
    response.on('close', () => {
      open.now -= 1
    })
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const call = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, text }
    calls.push(call)
    await hook.answer(call, response, count++)
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // it listens on a port
  const hook: Hook = {
    url: `http://127.0.0.1:${port}/hook`,
    calls,
    open,
    answer,
    async received(wanted, deadlineMs = 5000) {
      await until(() => calls.length >= wanted, { deadlineMs })
      return calls
    },
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
  return hook
}

/** The v1.0 events of deliveries, in short: `task SUBMITTED`, `artifact chunk 1 `, `status COMPLETED`. */
export function eventsOf(calls: readonly Pick<Call, 'text'>[]): string[] {
  return calls.map(({ text }) => outline(JSON.parse(text) as V1Delivery))
}

interface V1Delivery {
  readonly task?: { readonly status: { readonly state: string } }
  readonly statusUpdate?: { readonly status: { readonly state: string } }
  readonly artifactUpdate?: { readonly artifact: { readonly parts: readonly { readonly text?: string }[] } }
}

function outline({ task, statusUpdate, artifactUpdate }: V1Delivery): string {
  if (task) return `task ${task.status.state.replace('TASK_STATE_', '')}`
  if (statusUpdate) return `status ${statusUpdate.status.state.replace('TASK_STATE_', '')}`
  return `artifact ${artifactUpdate?.artifact.parts.map(({ text }) => text).join('')}`
}

/** The calls without repeated deliveries. */
export function distinct(calls: readonly Call[]): readonly Call[] {
  const byId = new Map<unknown, Call>()
  for (const call of calls) {
    const id = call.headers['x-a2a-delivery-id']
    if (!byId.has(id)) byId.set(id, call)
  }
  return [...byId.values()]
}
