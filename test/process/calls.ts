/** Minimal calls to a server in another process. */
import assert from 'node:assert/strict'
import { type Outcome, readRpc } from '../hostile/answers.js'
import { envelope } from '../hostile/peer.js'

export interface TaskView {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly state: string }
  readonly history?: readonly { readonly messageId: string }[]
  readonly artifacts?: readonly { readonly parts: readonly { readonly text?: string }[] }[]
}

export async function call(
  url: string,
  method: string,
  params: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const response = await fetch(url, {
    method: 'POST',
    // A new connection, because a pooled one may belong to a killed server.
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', connection: 'close', ...headers },
    body: envelope(method, params),
    signal: AbortSignal.timeout(15_000),
  })
  return readRpc({
    status: response.status,
    contentType: response.headers.get('content-type') ?? '',
    text: await response.text(),
  })
}

/** Returns the result of a call that must succeed. */
export async function result<T>(
  url: string,
  method: string,
  params: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<T> {
  const outcome = await call(url, method, params, headers)
  assert.equal(outcome.error, undefined, outcome.text)
  return outcome.result as T
}

export async function sendTask(
  url: string,
  text: string,
  more: { readonly message?: object; readonly configuration?: object } = {},
): Promise<TaskView> {
  const { task } = await result<{ task: TaskView }>(url, 'SendMessage', {
    ...more,
    message: newMessage(text, more.message),
  })
  return task
}

let messages = 0

export function newMessage(text: string, more: object = {}): { readonly messageId: string } {
  messages += 1
  return { messageId: `message-${process.pid}-${messages}`, role: 'ROLE_USER', parts: [{ text }], ...more } as {
    readonly messageId: string
  }
}

export async function getTask(url: string, id: string): Promise<TaskView> {
  return await result<TaskView>(url, 'GetTask', { id })
}

/** Counts the tasks in a state. */
export async function countIn(url: string, status: string): Promise<number> {
  return (await result<{ totalSize: number }>(url, 'ListTasks', { status, pageSize: 1, historyLength: 0 })).totalSize
}

export function textsOf({ artifacts = [] }: TaskView): string {
  return artifacts.flatMap(({ parts }) => parts.map(({ text = '' }) => text)).join('')
}
