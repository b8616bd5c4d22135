/** Waits on this machine for a browser that an authorization server sends back (RFC 8252). Loaded on use, on Node. */
import http from 'node:http'
import { assertOptions, type NamesOf } from '../model/option-names.js'

/** A server on loopback that waits for the redirect of an OAuth login. */
export interface LoopbackReceiver extends AsyncDisposable {
  readonly redirectUri: string
  /** The whole address the browser came back with. */
  receive(signal?: AbortSignal): Promise<string>
  close(): Promise<void>
}

/** Options of `listenForRedirect`. */
export interface LoopbackReceiverOptions {
  /** Default: any that is free; authorization servers ignore it for this machine. */
  readonly port?: number
  /** Default `/callback`. */
  readonly path?: string
  /** What the browser shows in the end. */
  readonly farewell?: string
}

const optionNames = { port: true, path: true, farewell: true } satisfies NamesOf<LoopbackReceiverOptions>

/**
 * ```ts
 * oauth2({ clientId: 'me', issuer, open, receiver: () => listenForRedirect() })
 * ```
 */
export async function listenForRedirect(options: LoopbackReceiverOptions = {}): Promise<LoopbackReceiver> {
  assertOptions('listenForRedirect', options, optionNames)
  const { port = 0, path = '/callback', farewell = 'You can close this window.' } = options
  let arrived: (url: string) => void = () => undefined
  const arrival = new Promise<string>((resolve) => {
    arrived = resolve
  })
  const server = http.createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    const isRedirect = request.method === 'GET' && url.pathname === path
    response.writeHead(isRedirect ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
    response.end(isRedirect ? farewell : '')
    if (isRedirect) arrived(url.href)
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  const { port: bound } = server.address() as { port: number } // it listens on a port
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return {
    redirectUri: `http://127.0.0.1:${bound}${path}`,
    receive: (signal) =>
      signal
        ? Promise.race([
            arrival,
            new Promise<never>((_, reject) =>
              signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
            ),
          ])
        : arrival,
    close,
    [Symbol.asyncDispose]: close,
  }
}
