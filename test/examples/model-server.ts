/** A server with OpenAI's API; tests define its responses and failures. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ModelRequest {
  readonly model: string
  readonly stream: boolean
  readonly messages: readonly { readonly role: string; readonly content: string }[]
  readonly authorization: string | undefined
}

export interface ModelServer extends AsyncDisposable {
  readonly url: string
  readonly requests: ModelRequest[]
  /** Resolves when a client has closed its connection. */
  readonly hungUp: Promise<void>
}

/** Handles a request. */
export type Behaviour = (response: ServerResponse) => void

export async function modelServer(behave: Behaviour): Promise<ModelServer> {
  const requests: ModelRequest[] = []
  let hangUp = () => {}
  const hungUp = new Promise<void>((resolve) => {
    hangUp = resolve
  })
  const server = createServer((request, response) => {
    response.once('close', () => {
      if (!response.writableFinished) hangUp()
    })
    void read(request).then((body) => {
      requests.push({ ...JSON.parse(body), authorization: request.headers.authorization })
      behave(response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // it listens on a TCP port
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    hungUp,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function read(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  return body
}

export function begin(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
}

export function piece(response: ServerResponse, content: string, finish: string | null = null): void {
  const choice = { index: 0, delta: { content }, finish_reason: finish }
  const chunk = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [choice] }
  response.write(`data: ${JSON.stringify(chunk)}\n\n`)
}

/** A complete response. */
export function answer(...pieces: readonly string[]): Behaviour {
  return (response) => {
    begin(response)
    for (const content of pieces) piece(response, content)
    piece(response, '', 'stop')
    response.end('data: [DONE]\n\n')
  }
}

export function refuse(status: number): Behaviour {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: 'secret details', type: 'x', code: 'x' } }))
  }
}
