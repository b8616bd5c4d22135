/**
 * Small clients for one dialect over one binding. They are written from the protocol's texts, independent of
 * Dragoman's codecs, so that they behave as foreign peers do.
 */
import { createParser } from 'eventsource-parser'

export type Json = Record<string, unknown>
export type Fetch = (path: string, init: RequestInit) => Promise<Response>

/** A part in the scenarios; each client encodes it in its dialect. */
export type Piece = { text: string } | { data: unknown } | { bytes: string; mediaType: string; name: string }

/** The members of a task that every dialect can express. */
export interface TaskSummary {
  readonly id?: string | undefined
  readonly contextId?: string | undefined
  /** Lower case, as 0.x writes it: `completed`, `input-required`. */
  readonly state?: string | undefined
  /** All text of all artifacts, or of the answering message. */
  readonly text?: string | undefined
  /** The pieces of the artifacts, if the dialect can express them. */
  readonly pieces?: readonly Piece[] | undefined
  /** The question or status text. */
  readonly note?: string | undefined
  /** Set on the last event of a stream by dialects that mark it. */
  readonly isLast?: boolean | undefined
}

export interface Refused {
  /** JSON-RPC number, or HTTP status, or gRPC status name. */
  readonly code: number | string
  readonly message: string
}

export type CallResult = { readonly result: TaskSummary } | { readonly refused: Refused }

export interface TaskTarget {
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
}

export interface WireClient {
  readonly name: string
  /** Operations of its dialect besides sending. */
  readonly has: ReadonlySet<'get' | 'cancel' | 'subscribe' | 'push'>
  /** The stored dialect of new tasks. */
  readonly dialect: string
  /** The piece after the client's own conversions; `undefined` if the client cannot send it. */
  readonly carries?: (piece: Piece) => Piece | undefined
  send(content: string | readonly Piece[], where?: TaskTarget): Promise<CallResult>
  stream(content: string, where?: TaskTarget): AsyncIterable<TaskSummary>
  get(id: string): Promise<CallResult>
  cancel(id: string): Promise<CallResult>
  subscribe(id: string): AsyncIterable<TaskSummary>
  /** Registers a webhook and reads it back: its address. */
  push(id: string, url: string): Promise<string>
}

export function piecesOf(content: string | readonly Piece[]): readonly Piece[] {
  return typeof content === 'string' ? [{ text: content }] : content
}

export function isResult(outcome: CallResult): outcome is { readonly result: TaskSummary } {
  return 'result' in outcome
}

/** Returns the result of a call that must succeed. */
export function resultOf(outcome: CallResult): TaskSummary {
  if (isResult(outcome)) return outcome.result
  throw new Error(`Refused: ${outcome.refused.code} ${outcome.refused.message}`)
}

/** Server-sent events, each with its name and parsed data; `[DONE]` stays text. */
export async function* readEvents(
  response: Response,
): AsyncGenerator<{ readonly event: string | undefined; readonly data: unknown }> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    throw new Error(`No stream: ${response.status} ${await response.text()}`)
  }
  const ready: { event: string | undefined; data: unknown }[] = []
  const parser = createParser({
    onEvent: ({ event, data }) => ready.push({ event, data: data === '[DONE]' ? data : (JSON.parse(data) as unknown) }),
  })
  const decoder = new TextDecoder()
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  try {
    for (;;) {
      for (let next = ready.shift(); next; next = ready.shift()) yield next
      const { done, value } = await reader.read()
      if (done) return
      parser.feed(decoder.decode(value, { stream: true }))
    }
  } finally {
    await reader.cancel()
  }
}

let lastId = 0
/** Unique ids; no test depends on their values. */
export function newId(prefix: string): string {
  lastId += 1
  return `${prefix}-${lastId}-${Math.random().toString(36).slice(2, 8)}`
}

export async function postJson(
  fetch: Fetch,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

/** The result or the error of a JSON-RPC call. */
export async function rpc(
  fetch: Fetch,
  path: string,
  method: string,
  params: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly result: unknown } | { readonly refused: Refused }> {
  const response = await postJson(fetch, path, { jsonrpc: '2.0', id: 7, method, params }, headers)
  const body = (await response.json()) as { id: unknown; result?: unknown; error?: { code: number; message: string } }
  if (body.id !== 7) throw new Error(`The id was not echoed: ${JSON.stringify(body)}`)
  return body.error ? { refused: body.error } : { result: body.result }
}

export async function* rpcStream(
  fetch: Fetch,
  path: string,
  method: string,
  params: unknown,
  headers: Readonly<Record<string, string>> = {},
): AsyncGenerator<unknown> {
  const response = await postJson(fetch, path, { jsonrpc: '2.0', id: 7, method, params }, headers)
  for await (const { data } of readEvents(response)) {
    const { result, error } = data as { result?: unknown; error?: { code: number; message: string } }
    if (error) throw new Error(`Refused: ${error.code} ${error.message}`)
    yield result
  }
}
