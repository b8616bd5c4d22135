/** The routes below `/console/api/`, for requests with a session. */

import { cardLocations } from '../client/resolve-card.js'
import { isAddress } from '../client/resolve-name.js'
import { canParseUrl } from '../model/can-parse-url.js'
import { isObject } from '../model/is-object.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { fetchFile } from '../net/fetch-file.js'
import type { DeadDelivery, PushOperations } from '../push/dead-letters.js'
import { parseJson, readBody } from '../transports/read-json.js'
import { probeAgent, viewCard } from './card-view.js'
import { describeError } from './connections.js'
import { readCredential } from './given-credential.js'
import type { RegistryView } from './registry-view.js'
import { cookieFor, json, refusal } from './responses.js'
import type { Session, SessionDeps } from './session.js'

const maxBodyBytes = 2 * 1024 * 1024
/** The redirect path of logins at authorization servers. */
export const callbackPath = '/console/oauth/callback'

export interface RouteDeps extends SessionDeps {
  readonly registryView?: RegistryView | undefined
  readonly push: readonly PushOperations[]
  /** URL that browsers and webhooks use. */
  readonly publicUrl?: string | undefined
}

interface RouteCall {
  readonly request: Request
  readonly url: URL
  readonly session: Session
}

type Route = (call: RouteCall, deps: RouteDeps) => Response | Promise<Response>

/** By method and path below `/console/api/`. */
const routes: Readonly<Record<string, Route>> = {
  'GET agents': ({ session }) => json(200, { agents: session.agents }),
  async 'POST agents'({ request, session }, { registryView }) {
    const { ref } = await bodyOf(request)
    if (typeof ref !== 'string' || ref.trim() === '') return refusal(400, 'Give the URL of an agent or of its card')
    const named = ref.trim()
    const [, namespace, name] = /^registry:([^/]+)\/(.+)$/.exec(named) ?? []
    if (namespace !== undefined && name !== undefined) {
      if (!(await registryView?.knows(namespace, name)))
        return refusal(404, `Agent not found in the registry: ${namespace}/${name}`)
      return session.add(named, 'registry') ? json(200, { ref: named }) : tooMany()
    }
    if (hasCredentials(named))
      return refusal(400, 'Remove the user name and the password from the URL; enter credentials in the Access tab')
    if (!isAddress(named)) return refusal(400, `${named.slice(0, 100)} is not a URL: start it with http:// or https://`)
    cardLocations(named) // throws for invalid URLs
    return session.add(named, 'pasted') ? json(200, { ref: named }) : tooMany()
  },
  'DELETE agents'({ url, session }) {
    session.remove(refOf(url))
    return json(200, {})
  },
  async 'PUT trust'({ request, session }) {
    const { ref, scheme = '', credential, allowsOrigins } = await bodyOf(request)
    if (typeof ref !== 'string' || !session.has(ref)) return unknown()
    const given = credential === undefined || credential === null ? credential : readCredential(credential)
    if (typeof scheme !== 'string' || (credential !== undefined && given === undefined))
      return refusal(400, 'Invalid credential')
    session.trust(ref, {
      scheme,
      ...(given !== undefined && { credential: given }),
      ...(typeof allowsOrigins === 'boolean' && { allowsOrigins }),
    })
    return json(200, {})
  },
  async 'POST login'({ request, session }, { publicUrl }) {
    const { ref } = await bodyOf(request)
    if (typeof ref !== 'string' || !session.has(ref)) return unknown()
    const base = withoutTrailingSlashes(publicUrl ?? new URL(request.url).origin)
    const { browser } = await session.login(ref, `${base}${callbackPath}`)
    // The redirect starts at another site, so that browsers would not send a strict cookie.
    const facts = { path: callbackPath, sameSite: 'Lax', seconds: 600, publicUrl } as const
    return json(200, {}, { 'set-cookie': cookieFor(request, 'login', browser, facts) })
  },
  async 'GET card'({ url, session }, deps) {
    const ref = refOf(url)
    return session.has(ref) ? json(200, await viewCard(session, ref, deps)) : unknown()
  },
  async 'POST probe'({ request, session }, deps) {
    const { ref, text } = await bodyOf(request)
    if (typeof ref !== 'string' || !session.has(ref)) return unknown()
    session.connections.forget(ref)
    return json(200, await probeAgent(session, ref, { ...deps, ...(typeof text === 'string' && { text }) }))
  },
  'GET calls': ({ url, session }) =>
    json(200, {
      calls: session.calls.list({
        ref: url.searchParams.get('ref') ?? undefined,
        taskId: url.searchParams.get('task') ?? undefined,
        contextId: url.searchParams.get('context') ?? undefined,
      }),
    }),
  'GET call'({ url, session }) {
    const call = session.calls.get(url.searchParams.get('id') ?? '')
    return call ? json(200, call.view()) : refusal(404, 'The call is no longer in the log')
  },
  async 'POST file'({ request }) {
    const { url, mediaType, filename } = await bodyOf(request)
    if (typeof url !== 'string') return refusal(400, 'url must be a string')
    const part = {
      url,
      ...(typeof mediaType === 'string' && { mediaType }),
      ...(typeof filename === 'string' && { filename }),
    }
    // The link is untrusted: only https and public addresses are fetched.
    const file = await fetchFile(part)
    return new Response(file.bytes, {
      headers: {
        'content-type': 'application/octet-stream',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; sandbox",
        'content-disposition': 'attachment',
      },
    })
  },
  'POST leave'({ url, session }) {
    session.tab(url.searchParams.get('tab') ?? '')?.leave(Number(url.searchParams.get('stream')))
    return json(200, {})
  },
  'GET deliveries': ({ session }) => json(200, { deliveries: session.inbox.list() }),
  async 'GET dead-letters'(_call, { push }) {
    if (push.length === 0) return refusal(404, 'The console has no access to dead letters')
    const lists = await Promise.all(push.map((each) => each.deadLetters()))
    return json(200, { letters: lists.flatMap((letters, index) => letters.map((each) => withServer(each, index))) })
  },
  async 'POST redeliver'({ url }, { push }) {
    const [, place, id = ''] = /^(\d{1,6})\/(.+)$/s.exec(textOf(url, 'id')) ?? []
    const outcome = await push[Number(place)]?.redeliver(id)
    return outcome ? json(200, outcome) : refusal(404, 'Dead letter not found')
  },
  'GET registry': ({ url }, { registryView }) => registryView?.list(url.searchParams) ?? noRegistry(),
  'GET registry/agent': ({ url }, { registryView }) =>
    registryView?.agent(textOf(url, 'namespace'), textOf(url, 'name')) ?? noRegistry(),
  'GET registry/health': ({ url }, { registryView }) =>
    registryView?.agent(textOf(url, 'namespace'), textOf(url, 'name'), 'health') ?? noRegistry(),
  'DELETE registry/agent': ({ url }, { registryView }) =>
    registryView?.withdraw(textOf(url, 'namespace'), textOf(url, 'name'), url.searchParams) ?? noRegistry(),
  async 'PUT registry/agent'({ request, session }, deps) {
    const { ref, namespace, name, ttlSeconds } = await bodyOf(request)
    if (typeof ref !== 'string' || !session.has(ref)) return unknown()
    if (typeof namespace !== 'string' || typeof name !== 'string')
      return refusal(400, 'namespace and name must be strings')
    if (!deps.registryView) return noRegistry()
    const { raw } = await viewCard(session, ref, deps)
    return deps.registryView.publish(namespace, name, {
      card: raw,
      ...(typeof ttlSeconds === 'number' && { ttlSeconds }),
    })
  },
}

/** Runs a route and encodes its errors. */
export async function answerRoute(path: string, call: RouteCall, deps: RouteDeps): Promise<Response> {
  const route = Object.hasOwn(routes, `${call.request.method} ${path}`)
    ? routes[`${call.request.method} ${path}`]
    : undefined
  if (!route) return refusal(404, 'Not found')
  try {
    return await route(call, deps)
  } catch (caught) {
    const error = describeError(caught)
    const isInternal = error.code === 'INTERNAL_ERROR' && !('failure' in (error.details.metadata ?? {}))
    const message = isInternal && caught instanceof TypeError ? caught.message : error.message
    const status = error.code === 'PAYLOAD_TOO_LARGE' ? 413 : isInternal && message === error.message ? 500 : 422
    return refusal(status, message, error.details.metadata?.failure ?? error.code)
  }
}

/** Prefixes the id with the server, because servers number their letters independently. */
function withServer(letter: DeadDelivery, index: number): DeadDelivery {
  return { ...letter, id: `${index}/${letter.id}` }
}

async function bodyOf(request: Request): Promise<Record<string, unknown>> {
  const body = parseJson(await readBody(request, maxBodyBytes))
  if (!isObject(body)) throw new TypeError('The body must be a JSON object')
  return body
}

function refOf(url: URL): string {
  return textOf(url, 'ref')
}

function textOf(url: URL, name: string): string {
  return url.searchParams.get(name) ?? ''
}

function unknown(): Response {
  return refusal(404, 'Agent not found: add it first')
}

function tooMany(): Response {
  return refusal(429, 'The session has too many agents: remove some')
}

function noRegistry(): Response {
  return refusal(404, 'The console has no registry: start it with --registry')
}

/** URLs are displayed, stored in the browser and part of links, so they must not contain credentials. */
function hasCredentials(address: string): boolean {
  const whole = /^https?:/i.test(address) ? address : `http://${address}`
  if (!canParseUrl(whole)) return false
  const { username, password } = new URL(whole)
  return username !== '' || password !== ''
}
