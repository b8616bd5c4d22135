// The web console, on the port of the document workflow: its page is at `/`, everything else of it below `/console`.
import { randomBytes } from 'node:crypto'
import { createConsole } from 'dragoman/console'

/** @import { Console } from 'dragoman/console' */
/** @import { Route } from 'dragoman/server' */
/** @typedef {NonNullable<import('dragoman/console').ConsoleOptions['push']>} PushOperations */

/** Routes that answer from the moment `start` says where everybody is. */
export class SystemConsole {
  /** @type {Console | undefined} */
  #console

  /** @type {PushOperations | undefined} */
  #push

  /** It lets people in by itself: anybody on this machine, elsewhere and where there is a key those who have its address.
   * @type {readonly Route[]}
   */
  routes = ['/', '/console'].map((path) => ({
    path,
    isPublic: true,
    answer: (request) => this.#console?.fetch(request),
  }))

  /** Whose deliveries that were given up it shows.
   * @param {PushOperations} push
   */
  watch(push) {
    this.#push ??= push
  }

  /** Answers the address to open in a browser.
   * @param {{ url: string, registry: string, agents: readonly string[], headers: Record<string, string> }} places
   */
  start({ url, registry, agents, headers }) {
    const { hostname, host } = new URL(url)
    const isHere = /^(localhost|127\.|\[::1\])/.test(hostname)
    const isOpen = isHere && Object.keys(headers).length === 0
    const token = isOpen ? undefined : randomBytes(18).toString('base64url')
    this.#console = createConsole({
      agents,
      registry,
      registryHeaders: headers,
      workflow: { ref: url, prompt: '茉莉花茶' },
      ...(this.#push && { push: this.#push }),
      ...(token && { token, hosts: [host] }),
    })
    const address = url.replace('//127.0.0.1:', '//localhost:')
    return token ? `${address}?token=${token}` : address
  }

  close() {
    this.#console?.close()
  }
}
