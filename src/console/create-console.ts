/** The console as one function from `Request` to `Response`: the page, its session, and a door to the agents. */

import { randomBytes } from 'node:crypto'
import type { Connection } from '../auth/scheme.js'
import type { CredentialSources } from '../client/credentials/credential.js'
import { A2AError, type ErrorCode } from '../model/errors.js'
import { isObject } from '../model/is-object.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import type { PushOperations } from '../push/dead-letters.js'
import { closePort, isLoopback, listen, tlsFor } from '../server/bind.js'
import { assertPublicUrl } from '../server/hosts.js'
import { createListener } from '../server/listener.js'
import { toNodeListener } from '../server/node.js'
import { type ConnectionOptions, connectionOptions, type PortOptions, portOptions } from '../server/options.js'
import { parseJson, readBody } from '../transports/read-json.js'
import { Access, type AccessOptions, hostOf } from './access.js'
import { Redirects } from './agent-credentials.js'
import { type ConsoleSession, type SessionRefusal, tabHeader } from './console-api.js'
import { readPageFiles } from './page-files.js'
import { createRegistryView } from './registry-view.js'
import { cookieOf, json, refusal } from './responses.js'
import { answerRoute, callbackPath, type RouteDeps } from './routes.js'
import { agentTarget, type Session, type SessionDeps } from './session.js'

/** Of what a page says to get a session. */
const maxSessionRequestBytes = 32 * 1024
const refusalStatus: Partial<Record<ErrorCode, number>> = {
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  RATE_LIMITED: 429,
  UNAVAILABLE: 503,
}

/** Options of `createConsole`. */
export interface ConsoleOptions extends AccessOptions {
  /** Agents that can be called from the start: addresses. */
  readonly agents?: readonly string[]
  /** A registry whose agents can be called too. */
  readonly registry?: string
  /** Credentials for it. */
  readonly registryHeaders?: Readonly<Record<string, string>>
  /** The agent that runs workflows, for their own screen; it counts as one of `agents`. */
  readonly workflow?: { readonly ref: string }
  /** Credentials for some of `agents`, by their addresses. Whoever may use this console uses them. */
  readonly credentials?: Readonly<Record<string, CredentialSources>>
  /** Of servers in this process: deliveries they gave up can be seen and sent once more. */
  readonly push?: PushOperations | readonly PushOperations[]
  readonly version?: string
}

export const consoleOptions = {
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

/** The console as a function from `Request` to `Response`. */
export interface Console {
  /**
   * Answers what is for the console; absent when it is not, so that its port can carry agents as well. It is the
   * `answer` of a route. The connection tells who is on this machine, and is for client certificates and for the
   * counting of guesses.
   */
  readonly fetch: (request: Request, visit?: { readonly connection?: Connection }) => Promise<Response> | undefined
  close(): void
}

/**
 * ```ts
 * const console = createConsole({ agents: ['http://localhost:8001'] })
 * const response = console.fetch(request, { connection }) ?? agents.fetch(request, connection)
 * ```
 */
export function createConsole(options: ConsoleOptions = {}): Console {
  assertOptions('createConsole', options, consoleOptions)
  return assembleConsole(options)
}

/** As `createConsole`, for options that were checked together with others. */
export function assembleConsole(options: ConsoleOptions): Console {
  assertPublicUrl(options.publicUrl)
  const files = readPageFiles()
  const { registry, registryHeaders, workflow, agents = [], credentials, publicUrl, push = [] } = options
  const given = [...new Set([...agents, ...(workflow ? [workflow.ref] : [])])]
  const redirects = new Redirects()
  const sessionParts: SessionDeps = { registry, registryHeaders, given, credentials, redirects }
  const access = new Access(options, sessionParts)
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
  const parts: RouteDeps = { ...sessionParts, registryView, push: servers, publicUrl }

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

  /** A browser that was sent back from a login. It comes from another site, and has no session to show. */
  const arrive = async (request: Request, url: URL): Promise<Response> => {
    if (request.method !== 'GET' || !access.isOwn(hostOf(request))) return refusal(403, 'Nobody logs in here')
    const ref = await redirects.arrive(url, cookieOf(request, 'login'))
    if (ref === undefined) return refusal(400, 'Nobody waits for this login any more: begin it again in the console')
    const location = `/#/agents/${encodeURIComponent(ref)}?tab=access`
    return new Response(null, { status: 303, headers: { location, 'cache-control': 'no-store' } })
  }

  const callAgent = async (request: Request, session: Session, path: string): Promise<Response> => {
    const [ref = '', dialect, binding] = namesIn(path)
    if (!session.has(ref)) return refusal(404, 'This agent was not named here: add it first')
    const [tab = '', stream = ''] = (request.headers.get(tabHeader) ?? '').split('/')
    // Before anything is said to the agent: the page opens one, and says it again.
    if (tab !== '' && !session.tab(tab)) return refusal(409, 'This tab has no stream: open one first')
    const response = await session.answer(request, agentTarget(ref, dialect, binding))
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    if (!isStream || tab === '' || !response.body) return response
    const carrier = session.tab(tab)
    if (!carrier) {
      await response.body.cancel()
      return refusal(410, 'This tab has been closed')
    }
    void carrier.carry(Number(stream), response.body) // it owns its failures, and ends with the tab
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
      return files.file(path.slice('assets/'.length), request) ?? refusal(404, 'There is nothing here')
    const isTab = request.method === 'GET' && path === 'api/tab'
    // The browser's own reader of streams cannot send headers; what it reads, no other page can.
    if (!isTab && !access.isOurs(request)) return refusal(403, 'Only the console’s own page asks this')
    if (request.method === 'POST' && path === 'api/session') return await begin(request, connection)
    if (request.method === 'DELETE' && path === 'api/session') {
      access.end(request)
      return json(200, {})
    }
    const session = access.find(request)
    if (!session) return refusal(401, 'There is no session')
    if (isTab) return session.openTab().response
    if (path.startsWith('a2a/') && request.method === 'POST') return await callAgent(request, session, path.slice(4))
    return await answerRoute(path.slice('api/'.length), { request, url, session }, parts)
  }

  const receive = async (request: Request, secret: string): Promise<Response> => {
    const session = access.sessions().find(({ inbox }) => inbox.isFor(secret))
    return session ? await session.inbox.receive(request) : new Response(null, { status: 404 })
  }

  return {
    fetch(request, { connection = {} } = {}) {
      const url = new URL(request.url)
      if (url.pathname === '/' || url.pathname === '/console' || url.pathname === '/console/')
        return isVisit(request) ? Promise.resolve(files.page(request)) : undefined
      if (url.pathname.startsWith('/console/push/')) return receive(request, url.pathname.split('/')[3] ?? '')
      if (url.pathname === callbackPath) return arrive(request, url)
      return url.pathname.startsWith('/console/') ? answer(request, url, connection) : undefined
    },
    close() {
      registryView?.close()
      access.close()
    },
  }
}

/** Nothing is called by what no address can be. */
function namesIn(path: string): readonly string[] {
  try {
    return path.split('/').map(decodeURIComponent)
  } catch {
    return []
  }
}

/** Whether a person is looking, and not a program. */
function isVisit({ method, headers }: Request): boolean {
  return (method === 'GET' || method === 'HEAD') && /\btext\/html\b/i.test(headers.get('accept') ?? '')
}

/** Options of `serveConsole`. */
export interface ServeConsoleOptions extends ConsoleOptions, PortOptions, ConnectionOptions {}

const optionNames = { ...portOptions, ...connectionOptions, ...consoleOptions } satisfies NamesOf<ServeConsoleOptions>

/** A console that listens on a port. */
export interface ServedConsole {
  /** What to open in a browser; with the token, where one is needed. */
  readonly url: string
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The console on a port of its own. On another address than loopback it makes a token, unless one or `auth` is given.
 *
 * ```ts
 * const { url } = await serveConsole({ port: 8010, agents: ['http://localhost:8001'] })
 * ```
 */
export async function serveConsole(options: ServeConsoleOptions = {}): Promise<ServedConsole> {
  assertOptions('serveConsole', options, optionNames)
  assertPublicUrl(options.publicUrl)
  const isHere = isLoopback(options.host)
  const { token = isHere || options.auth ? undefined : randomBytes(18).toString('base64url') } = options
  const publicHost = options.publicUrl === undefined ? [] : [new URL(options.publicUrl).host]
  let front: ReturnType<typeof assembleConsole> | undefined
  const nothing = () => Promise.resolve(new Response(null, { status: 404 }))
  const fetch: Extract<Parameters<typeof toNodeListener>[0], { fetch: unknown }>['fetch'] = (request, connection) =>
    front?.fetch(request, connection && { connection }) ?? nothing()
  const listener = createListener(toNodeListener({ fetch }), {
    deadlines: options.deadlines,
    connections: options.connections,
    tls: tlsFor(options),
  })
  const address = await listen(listener, options)
  front = assembleConsole({
    ...options,
    ...(token !== undefined && { token }),
    hosts: [...(options.hosts ?? []), ...publicHost, ...(isHere ? [] : [new URL(address).host])],
  })
  const close = () => closePort(listener, async () => front?.close())
  const base = withoutTrailingSlashes(options.publicUrl ?? address)
  return { url: `${base}/${token === undefined ? '' : `?token=${token}`}`, close, [Symbol.asyncDispose]: close }
}
