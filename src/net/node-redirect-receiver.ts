/** Receives the redirect of a browser login on a loopback port (RFC 8252). */
import http from 'node:http'
import { assertOptions, type NamesOf } from '../model/option-names.js'

/** A server on this machine that waits for the redirect of a browser login. */
export interface LoopbackReceiver extends AsyncDisposable {
  readonly redirectUri: string
  /** Resolves with the full URL of the redirect. */
  receive(signal?: AbortSignal): Promise<string>
  close(): Promise<void>
}

/** Options of `listenForRedirect`. */
export interface LoopbackReceiverOptions {
  /** Default: a free port. Authorization servers ignore the port of loopback addresses. */
  readonly port?: number
  /** Default `/callback`. */
  readonly path?: string
  /** Text that the browser shows after the login. Default: `You can close this window.` */
  readonly closingText?: string
}

const optionNames = { port: true, path: true, closingText: true } satisfies NamesOf<LoopbackReceiverOptions>

/**
 * Listens on a loopback port for the redirect of a browser login, as `receiver` of `oauth2`.
 *
 * ```ts
 * oauth2({ clientId: 'me', issuer, open, receiver: () => listenForRedirect() })
 * ```
 */
export async function listenForRedirect(options: LoopbackReceiverOptions = {}): Promise<LoopbackReceiver> {
  assertOptions('listenForRedirect', options, optionNames)
  const { port = 0, path = '/callback', closingText = 'You can close this window.' } = options
  let onRedirect: (url: string) => void = () => undefined
  const redirected = new Promise<string>((resolve) => {
    onRedirect = resolve
  })
  const server = http.createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    const isRedirect = request.method === 'GET' && url.pathname === path
    response.writeHead(isRedirect ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
    response.end(isRedirect ? closingText : '')
    if (isRedirect) onRedirect(url.href)
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  const { port: bound } = server.address() as { port: number } // it listens on a TCP port
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return {
    redirectUri: `http://127.0.0.1:${bound}${path}`,
    receive: (signal) =>
      signal
        ? Promise.race([
            redirected,
            new Promise<never>((_, reject) =>
              signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
            ),
          ])
        : redirected,
    close,
    [Symbol.asyncDispose]: close,
  }
}
