/** The console as a function from `Request` to `Response`, and behind a port. */

import { randomBytes } from 'node:crypto'
import type { CredentialSources } from '../client/credentials/credential.js'
import type { Connection } from '../model/connection.js'
import { A2AError, type ErrorCode } from '../model/errors.js'
import { isObject } from '../model/is-object.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import type { PushOperations } from '../push/dead-letters.js'
import { closePort, isLoopback, listen, type PortOptions, tlsFor } from '../server/bind.js'
import { assertPublicUrl } from '../server/hosts.js'
import { createListener } from '../server/listener.js'
import { toNodeListener } from '../server/node.js'
import { type ConnectionOptions, connectionOptions, portOptions } from '../server/options.js'
import { parseJson, readBody } from '../transports/read-json.js'
import { Access, type AccessOptions, assertLogin, hostOf } from './access.js'
import { Redirects } from './agent-credentials.js'
import { type ConsoleSession, type SessionRefusal, tabHeader } from './console-api.js'
import { readPageFiles } from './page-files.js'
import { createRegistryView } from './registry-view.js'
import { cookieOf, json, refusal } from './responses.js'
import { answerRoute, callbackPath, type RouteDeps } from './routes.js'
import { agentTarget, type Session, type SessionDeps } from './session.js'

const maxSessionRequestBytes = 32 * 1024
const refusalStatus: Partial<Record<ErrorCode, number>> = {
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  RATE_LIMITED: 429,
  UNAVAILABLE: 503,
}

/** Options of `createConsole`. */
export interface ConsoleOptions extends AccessOptions {
  /** Hosts or URLs of agents to show. */
  readonly agents?: readonly string[]
  /** URL of a registry whose agents can be called too. */
  readonly registry?: string
  /** HTTP headers for the registry, such as credentials. */
  readonly registryHeaders?: Readonly<Record<string, string>>
  /** The agent of the Workflows screen; it is added to `agents`. */
  readonly workflow?: { readonly ref: string }
  /** Credentials for some of `agents`, by their addresses. All users of the console use them. */
  readonly credentials?: Readonly<Record<string, CredentialSources>>
  /** Servers of this process whose dead letters users can read and redeliver. */
  readonly push?: PushOperations | readonly PushOperations[]
  /** Version that the page shows. */
  readonly version?: string
}

const consoleOptions = {
  agents: true,
  registry: true,
  registryHeaders: true,
  workflow: { ref: true },
  credentials: true,
  push: true,
  version: true,
  token: true,
  auth: true,
  hosts: true,
  publicUrl: true,
} satisfies NamesOf<ConsoleOptions>

/** A console without a port. */
export interface Console {
  /**
   * Answers requests for the console; returns undefined for others, so that agents can share its port. The connection
   * provides the caller's address and client certificate.
   */
  readonly fetch: (request: Request, visit?: { readonly connection?: Connection }) => Promise<Response> | undefined
  close(): void
}

/**
 * Creates the web console without a port.
 *
 * ```ts
 * const console = createConsole({ agents: ['http://localhost:8001'] })
 * const response = console.fetch(request, { connection }) ?? agents.fetch(request, connection)
 * ```
 */
export function createConsole(options: ConsoleOptions = {}): Console {
  assertOptions('createConsole', options, consoleOptions)
  assertPublicUrl(options.publicUrl)
  const files = readPageFiles()
  const { registry, registryHeaders, workflow, agents = [], credentials, publicUrl, push = [] } = options
  const given = [...new Set([...agents, ...(workflow ? [workflow.ref] : [])])]
  const redirects = new Redirects()
  const sessionDeps: SessionDeps = { registry, registryHeaders, given, credentials, redirects }
  const access = new Access(options, sessionDeps)
  const registryView =
    registry === undefined
      ? undefined
      : createRegistryView(registry, {
          ...(registryHeaders && { headers: registryHeaders }),
          onEvent: (event) => {
            for (const session of access.sessions()) session.tell({ registry: event })
          },
        })
  const servers = Array.isArray(push) ? (push as readonly PushOperations[]) : [push as PushOperations]
  const deps: RouteDeps = { ...sessionDeps, registryView, push: servers, publicUrl }

  const describe = (session: Session, request: Request): ConsoleSession => ({
    version: options.version ?? '',
    agents: session.agents,
    hasDeadLetters: servers.length > 0,
    hasLogin: access.asks !== undefined,
    receiver: `${withoutTrailingSlashes(publicUrl ?? new URL(request.url).origin)}/console/push/${session.inbox.secret}`,
    ...(registry !== undefined && { registry }),
    ...(workflow && { workflow }),
  })

  const begin = async (request: Request, connection: Connection): Promise<Response> => {
    const body = await readBody(request, maxSessionRequestBytes).then(parseJson, () => undefined)
    try {
      const { session, cookie } = await access.begin(request, isObject(body) ? body : {}, connection)
      return json(200, describe(session, request), cookie === undefined ? {} : { 'set-cookie': cookie })
    } catch (caught) {
      const { code, message } = A2AError.from(caught)
      const { asks } = access
      return json(refusalStatus[code] ?? 500, { error: message, code, ...(asks && { asks }) } satisfies SessionRefusal)
    }
  }

  /** Handles the redirect of a login. The browser comes from another site and sends no session cookie. */
  const finishLogin = async (request: Request, url: URL): Promise<Response> => {
    if (request.method !== 'GET' || !access.isOwn(hostOf(request))) return refusal(403, 'Logins are not accepted here')
    const ref = await redirects.arrive(url, cookieOf(request, 'login'))
    if (ref === undefined) return refusal(400, 'The login has expired: start it again in the console')
    const location = `/#/agents/${encodeURIComponent(ref)}?tab=access`
    return new Response(null, { status: 303, headers: { location, 'cache-control': 'no-store' } })
  }

  const callAgent = async (request: Request, session: Session, path: string): Promise<Response> => {
    const [ref = '', dialect, binding] = segmentsOf(path)
    if (!session.has(ref)) return refusal(404, 'Agent not found: add it first')
    const [tab = '', stream = ''] = (request.headers.get(tabHeader) ?? '').split('/')
    // Checked before the agent is called: the page opens a stream and repeats the request.
    if (tab !== '' && !session.tab(tab)) return refusal(409, 'The tab has no stream: open one first')
    const response = await session.answer(request, agentTarget(ref, dialect, binding))
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    if (!isStream || tab === '' || !response.body) return response
    const carrier = session.tab(tab)
    if (!carrier) {
      await response.body.cancel()
      return refusal(410, 'The tab was closed')
    }
    void carrier.carry(Number(stream), response.body) // handles its errors, and ends with the tab
    const headers = new Headers(response.headers)
    headers.set('content-type', 'application/json')
    headers.set(tabHeader, `${tab}/${stream}`)
    return new Response('{}', { status: 200, headers })
  }

  const answer = async (request: Request, url: URL, connection: Connection): Promise<Response> => {
    const fault = access.fault(request)
    if (fault !== undefined) return refusal(403, fault)
    const path = url.pathname.slice('/console/'.length)
    if (request.method === 'GET' && path.startsWith('assets/'))
      return files.file(path.slice('assets/'.length), request) ?? refusal(404, 'Not found')
    const isTab = request.method === 'GET' && path === 'api/tab'
    // `EventSource` cannot send headers, and pages of other origins cannot read its events.
    if (!isTab && !access.isOurs(request)) return refusal(403, 'The request does not come from the console’s page')
    if (request.method === 'POST' && path === 'api/session') return await begin(request, connection)
    if (request.method === 'DELETE' && path === 'api/session') {
      access.end(request)
      return json(200, {})
    }
    const session = access.find(request)
    if (!session) return refusal(401, 'No session: log in first')
    if (isTab) return session.openTab().response
    if (path.startsWith('a2a/') && request.method === 'POST') return await callAgent(request, session, path.slice(4))
    return await answerRoute(path.slice('api/'.length), { request, url, session }, deps)
  }

  const receive = async (request: Request, secret: string): Promise<Response> => {
    const session = access.sessions().find(({ inbox }) => inbox.isFor(secret))
    return session ? await session.inbox.receive(request) : new Response(null, { status: 404 })
  }

  return {
    fetch(request, { connection = {} } = {}) {
      const url = new URL(request.url)
      if (url.pathname === '/' || url.pathname === '/console' || url.pathname === '/console/')
        return isPageRequest(request) ? Promise.resolve(files.page(request)) : undefined
      if (url.pathname.startsWith('/console/push/')) return receive(request, url.pathname.split('/')[3] ?? '')
      if (url.pathname === callbackPath) return finishLogin(request, url)
      return url.pathname.startsWith('/console/') ? answer(request, url, connection) : undefined
    },
    close() {
      registryView?.close()
      access.close()
    },
  }
}

/** Decoded path segments; empty if they are malformed. */
function segmentsOf(path: string): readonly string[] {
  try {
    return path.split('/').map(decodeURIComponent)
  } catch {
    return []
  }
}

/** Whether a browser requests a page. */
function isPageRequest({ method, headers }: Request): boolean {
  return (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(headers.get('accept') ?? '')
}

/** Options of `serveConsole`: those of `createConsole` and of the port. */
export interface ServeConsoleOptions extends ConsoleOptions, PortOptions, ConnectionOptions {}

const optionNames = { ...portOptions, ...connectionOptions, ...consoleOptions } satisfies NamesOf<ServeConsoleOptions>

/** A console that listens on a port. */
export interface ServedConsole {
  /** The URL to open in a browser, with the token if one is required. */
  readonly url: string
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Serves the web console on a port. On an address other than loopback it generates a token, unless `token` or `auth` is
 * given.
 *
 * ```ts
 * const { url } = await serveConsole({ port: 8010, agents: ['http://localhost:8001'] })
 * ```
 */
export async function serveConsole(options: ServeConsoleOptions = {}): Promise<ServedConsole> {
  assertOptions('serveConsole', options, optionNames)
  assertPublicUrl(options.publicUrl)
  const isLocal = isLoopback(options.host)
  assertLogin(options.auth)
  const { token = isLocal || options.auth ? undefined : randomBytes(18).toString('base64url') } = options
  const publicHost = options.publicUrl === undefined ? [] : [new URL(options.publicUrl).host]
  let front: Console | undefined
  const notFound = () => Promise.resolve(new Response(null, { status: 404 }))
  const fetch: Extract<Parameters<typeof toNodeListener>[0], { fetch: unknown }>['fetch'] = (request, connection) =>
    front?.fetch(request, connection && { connection }) ?? notFound()
  const { port: _port, host: _host, tls: _tls, deadlines, connections, ...consoleOnly } = options
  const listener = createListener(toNodeListener({ fetch }), { deadlines, connections, tls: tlsFor(options) })
  const address = await listen(listener, options)
  front = createConsole({
    ...consoleOnly,
    ...(token !== undefined && { token }),
    hosts: [...(options.hosts ?? []), ...publicHost, ...(isLocal ? [] : [new URL(address).host])],
  })
  const close = () => closePort(listener, async () => front?.close())
  const base = withoutTrailingSlashes(options.publicUrl ?? address)
  return { url: `${base}/${token === undefined ? '' : `?token=${token}`}`, close, [Symbol.asyncDispose]: close }
}
