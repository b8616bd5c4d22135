// The web console, on the port of the document workflow: the page at `/`, its other routes below `/console`.
import { randomBytes } from 'node:crypto'
import type { Served } from 'dragoman'
import { type Console, createConsole } from 'dragoman/console'
import type { Route } from 'dragoman/server'
import { authHeaders, clientCredentials, type Secrets, serverAuth } from '../agents/serve-when-run.ts'

type PushOperations = Served['push']

/** Routes of the console. They answer after `start` has set the addresses of the agents. */
export class SystemConsole {
  #console: Console | undefined

  #push: PushOperations[] = []

  /**
   * Public, because the console checks access itself: on this machine without a key every caller has access, otherwise
   * callers need the address with its token, or the key.
   */
  routes: readonly Route[] = ['/', '/console'].map((path) => ({
    path,
    isPublic: true,
    answer: (request, visit) => this.#console?.fetch(request, visit),
  }))

  /** Shows the dead letters of an agent's webhooks. */
  watch(push: PushOperations) {
    this.#push.push(push)
  }

  /** Starts the console and returns the address to open in a browser. */
  start({
    url,
    registry,
    agents,
    secrets,
  }: {
    url: string
    registry: string
    agents: readonly string[]
    secrets: Secrets
  }) {
    const { auth } = serverAuth(secrets)
    const { credentials } = clientCredentials(secrets)
    const { hostname, host } = new URL(url)
    const isHere = /^(localhost|127\.|\[::1\])/.test(hostname)
    const token = isHere && !auth ? undefined : randomBytes(18).toString('base64url')
    this.#console = createConsole({
      agents,
      registry,
      registryHeaders: authHeaders(secrets).headers ?? {},
      // Users of the console have the key, or an address with a token from someone who has it.
      ...(auth && credentials && { auth, credentials: Object.fromEntries(agents.map((ref) => [ref, credentials])) }),
      workflow: { ref: url },
      push: this.#push,
      ...(token && { token, hosts: [host] }),
    })
    return token ? `${url}?token=${token}` : url
  }

  close() {
    this.#console?.close()
  }
}
