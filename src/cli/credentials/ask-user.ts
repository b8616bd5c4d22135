/** Asks the user for an authorisation: by a code, or in a browser that comes back to this machine. */
import { spawn } from 'node:child_process'
import { listenForRedirect } from '../../net/index.js'
import type { Output } from '../output.js'
import { oneLine } from '../printable.js'
import type { Asking } from './credential-source.js'

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
    receiver: () => listenForRedirect(),
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
