// The web console, on the port of the document workflow: its page is at `/`, everything else of it below `/console`.
import { randomBytes } from 'node:crypto'
import type { Served } from 'dragoman'
import { type Console, createConsole } from 'dragoman/console'
import type { Route } from 'dragoman/server'
import { authWith, headersWith, type Secrets, shows } from '../agents/serve-when-run.ts'

type PushOperations = Served['push']

/** Routes that answer from the moment `start` says where everybody is. */
export class SystemConsole {
  #console: Console | undefined

  #push: PushOperations[] = []

  /** It lets people in by itself: anybody on this machine, elsewhere and where there is a key those who have its address or the key. */
  routes: readonly Route[] = ['/', '/console'].map((path) => ({
    path,
    isPublic: true,
    answer: (request, visit) => this.#console?.fetch(request, visit),
  }))

  /** Whose deliveries that were given up it shows. */
  watch(push: PushOperations) {
    this.#push.push(push)
  }

  /** Answers the address to open in a browser. */
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
    const { auth } = authWith(secrets)
    const { credentials } = shows(secrets)
    const { hostname, host } = new URL(url)
    const isHere = /^(localhost|127\.|\[::1\])/.test(hostname)
    const token = isHere && !auth ? undefined : randomBytes(18).toString('base64url')
    this.#console = createConsole({
      agents,
      registry,
      registryHeaders: headersWith(secrets).headers ?? {},
      // Who may use it has the key, or was told the address by who has.
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
