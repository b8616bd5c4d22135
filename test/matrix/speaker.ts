/**
 * Small clients that speak one dialect over one binding, written from the protocol's texts and not from
 * our codecs: what they read and write by hand is what foreign peers read and write.
 */
import { createParser } from 'eventsource-parser'

export type Json = Record<string, unknown>
export type Fetch = (path: string, init: RequestInit) => Promise<Response>

/** A part as scenarios speak of it; each dialect has its own spelling. */
export type Piece = { text: string } | { data: unknown } | { bytes: string; mediaType: string; name: string }

/** What a dialect told about a task, in words they all share. */
export interface Told {
  readonly id?: string | undefined
  readonly contextId?: string | undefined
  /** Lower case, as 0.x writes it: `completed`, `input-required`. */
  readonly state?: string | undefined
  /** All text of all artifacts, or of the answering message. */
  readonly text?: string | undefined
  /** The pieces of the artifacts, where the dialect can carry them. */
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

export type Outcome = { readonly told: Told } | { readonly refused: Refused }

export interface Where {
  readonly taskId?: string | undefined
  readonly contextId?: string | undefined
}

export interface Speaker {
  readonly name: string
  /** Operations its dialect has beside sending. */
  readonly has: ReadonlySet<'get' | 'cancel' | 'subscribe' | 'push'>
  /** The name that new tasks remember. */
  readonly dialect: string
  /** What becomes of a piece inside the client itself, before and behind the wire; absent: it cannot send it. */
  readonly carries?: (piece: Piece) => Piece | undefined
  send(content: string | readonly Piece[], where?: Where): Promise<Outcome>
  stream(content: string, where?: Where): AsyncIterable<Told>
  get(id: string): Promise<Outcome>
  cancel(id: string): Promise<Outcome>
  subscribe(id: string): AsyncIterable<Told>
  /** Registers a webhook and reads it back: its address. */
  push(id: string, url: string): Promise<string>
}

export function piecesOf(content: string | readonly Piece[]): readonly Piece[] {
  return typeof content === 'string' ? [{ text: content }] : content
}

export function isTold(outcome: Outcome): outcome is { readonly told: Told } {
  return 'told' in outcome
}

/** The answer of a call that has to succeed. */
export function told(outcome: Outcome): Told {
  if (isTold(outcome)) return outcome.told
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
/** Ids differ; nothing depends on their values. */
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

/** The result of a JSON-RPC call, or how it was refused. */
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
