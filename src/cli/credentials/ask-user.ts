/** Asks the user for an authorisation: by a code, or in a browser that comes back to this machine. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Output } from '../output.js'
import { oneLine } from '../printable.js'
import type { Asking } from './credential-source.js'

type Receiver = Awaited<ReturnType<NonNullable<Asking['receiver']>>>

export function askUser(output: Output): Asking {
  return {
    showCode({ userCode, verificationUri, verificationUriComplete }) {
      output.say(`Open ${oneLine(verificationUri)} and enter the code ${oneLine(userCode)}`)
      if (verificationUriComplete !== undefined) output.say(`Or open ${oneLine(verificationUriComplete)}`)
    },
    open(url) {
      output.say(`Log in here, if no browser opens: ${oneLine(url)}`)
      openBrowser(url)
    },
    receiver: listenForRedirect,
  }
}

/** The address is an argument of its own: no shell reads it. */
function openBrowser(url: string): void {
  if (!/^https?:\/\//i.test(url) || !process.stderr.isTTY) return
  const { platform } = process
  const [command, ...args] =
    platform === 'darwin'
      ? ['open', url]
      : platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler', url]
        : ['xdg-open', url]
  const child = spawn(command, args, { stdio: 'ignore', detached: true })
  child.on('error', () => {}) // the address was printed
  child.unref()
}

async function listenForRedirect(): Promise<Receiver> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server that listens always has an address of this kind.
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}/callback`
  return {
    redirectUri,
    receive: (signal) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
        server.on('request', (request, response) => {
          const url = new URL(request.url ?? '/', redirectUri)
          const isAnswer = url.pathname === '/callback'
          response.writeHead(isAnswer ? 200 : 404, { 'content-type': 'text/plain', connection: 'close' })
          response.end(isAnswer ? 'You can close this window.' : '')
          if (isAnswer) resolve(url.href)
        })
      }),
    close() {
      server.close()
      server.closeIdleConnections()
    },
  }
}
