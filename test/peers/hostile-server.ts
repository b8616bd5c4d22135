/** A server whose answers a test scripts, and which records its requests. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Call {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The JSON-RPC method, if the body is JSON-RPC. */
  readonly method: string
  readonly id: unknown
  /** Number of earlier calls of this method. */
  readonly count: number
  readonly response: ServerResponse
}

export interface HostileServer extends AsyncDisposable {
  readonly origin: string
  readonly port: number
  readonly calls: readonly Pick<Call, 'path' | 'headers' | 'method'>[]
  /** Responses that are still open. */
  readonly answering: number
}

type Answer = (call: Call) => unknown

export const cardPath = '/.well-known/agent-card.json'

/** Responses by path, else by method. By default the well-known path returns a card of this server. */
export async function hostileServer(answers: Readonly<Record<string, Answer>>): Promise<HostileServer> {
  const calls: Call[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    // Tests disconnect clients on purpose.
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    request.on('end', () => {
      const { url: path = '', headers } = request
      const { method = '', id } = readRpc(Buffer.concat(chunks).toString())
      const count = calls.filter((each) => each.method === method && each.path === path).length
      const call = { path, headers, method, id, count, response }
      calls.push(call)
      const answer = answers[path] ?? answers[method] ?? answers['*']
      if (answer) answer(call)
      else if (path === cardPath) json(response, cardOf(origin))
      else response.writeHead(404).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // it listens on a port
  const origin = `http://127.0.0.1:${port}`
  return {
    origin,
    port,
    calls,
    get answering() {
      return calls.filter(({ response }) => !response.closed).length
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function readRpc(body: string): { readonly method?: string; readonly id?: unknown } {
  try {
    return JSON.parse(body) as { method?: string; id?: unknown }
  } catch {
    return {}
  }
}

export function cardOf(origin: string, more: object = {}): Readonly<Record<string, unknown>> {
  return {
    name: 'Hostile',
    description: 'Does what it likes',
    version: '1.0.0',
    supportedInterfaces: [{ url: `${origin}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 'S', description: 'None', tags: ['none'] }],
    ...more,
  }
}

export function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** A valid JSON-RPC response with any result. */
export function result({ id, response }: Call, value: unknown): void {
  json(response, { jsonrpc: '2.0', id, result: value })
}

export function task(state: string, more: object = {}): Readonly<Record<string, unknown>> {
  return { id: 't1', contextId: 'c1', status: { state: `TASK_STATE_${state}` }, ...more }
}

export function status(state: string): object {
  return { statusUpdate: { taskId: 't1', contextId: 'c1', status: { state: `TASK_STATE_${state}` } } }
}

export function chunk(text: string): object {
  const artifact = { artifactId: 'a1', parts: [{ text }] }
  return { artifactUpdate: { taskId: 't1', contextId: 'c1', artifact, append: true } }
}

export function openStream({ response }: Call, type = 'text/event-stream'): void {
  response.writeHead(200, { 'content-type': type })
}

/** One event in its envelope, with an id if given. */
export function event({ id }: Call, value: object, seq?: number): string {
  return `${seq === undefined ? '' : `id: ${seq}\n`}data: ${JSON.stringify({ jsonrpc: '2.0', id, result: value })}\n\n`
}

/** Events, then a regular end of the response. */
export function streamOf(call: Call, ...events: string[]): void {
  openStream(call)
  call.response.end(events.join(''))
}

/** Events, then a closed connection. */
export function brokenStream(call: Call, ...events: string[]): void {
  openStream(call)
  call.response.write(events.join(''), () => setImmediate(() => call.response.destroy()))
}
