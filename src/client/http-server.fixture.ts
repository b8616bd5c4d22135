/** HTTP servers for tests, and a `fetch` that maps host names to them. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface TestServer extends AsyncDisposable {
  readonly origin: string
  readonly port: number
  readonly seen: Seen[]
  /** Number of connections, closed ones included. */
  connections(): number
}

export async function serveHttp(
  answer: (request: Seen, response: ServerResponse) => unknown,
  host = '127.0.0.1',
): Promise<TestServer> {
  const seen: Seen[] = []
  let connections = 0
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const { method = '', url = '', headers } = request
      const one: Seen = { method, path: url, headers, body }
      seen.push(one)
      answer(one, response)
    })
  })
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo // it listens on a TCP port
  return {
    origin: `http://${host}:${port}`,
    port,
    seen,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Answers with JSON. */
export function json(
  response: ServerResponse,
  body: unknown,
  headers: Record<string, string> = {},
  status = 200,
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(typeof body === 'string' ? body : JSON.stringify(body))
}

/** A `fetch` that maps some host names to this machine, for every port and scheme. */
export function fetchWithNames(...names: string[]): typeof fetch {
  return (input, init) => {
    const url = new URL(String(input))
    if (names.includes(url.hostname)) {
      url.hostname = '127.0.0.1'
      url.protocol = 'http:'
    }
    return fetch(url, init)
  }
}
