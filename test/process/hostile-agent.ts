/** A scripted HTTP server that closes its connections after the test. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'

export interface ScriptedServer extends AsyncDisposable {
  readonly url: string
  /** The requests, such as `POST /rpc GetTask`. */
  readonly requests: readonly string[]
}

export interface ScriptedRequest {
  readonly path: string
  /** The JSON-RPC method; empty for other requests. */
  readonly method: string
  readonly id: unknown
  readonly headers: IncomingMessage['headers']
  readonly url: string
}

export async function scriptedServer(
  answer: (requests: ScriptedRequest, response: ServerResponse) => void,
): Promise<ScriptedServer> {
  const requests: string[] = []
  let url = ''
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const { method = '', id } = (text.startsWith('{') ? JSON.parse(text) : {}) as { method?: string; id?: unknown }
    const path = request.url ?? ''
    requests.push(`${request.method} ${path} ${method}`.trim())
    answer({ path, method, id, headers: request.headers, url }, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** A port that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createTcpServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
