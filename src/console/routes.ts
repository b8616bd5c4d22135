/** What the page may ask for, beside calling agents. Everything here is for a session that exists. */

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
/** Where logins at authorization servers come back to. */
export const callbackPath = '/console/oauth/callback'

export interface RouteDeps extends SessionDeps {
  readonly registryView?: RegistryView | undefined
  readonly push: readonly PushOperations[]
  /** Where people and webhooks reach this console. */
  readonly publicUrl?: string | undefined
}

export interface RouteCall {
  readonly request: Request
  readonly url: URL
  readonly session: Session
}

type Route = (call: RouteCall, parts: RouteDeps) => Response | Promise<Response>

/** By method and path below `/console/api/`. */
export const routes: Readonly<Record<string, Route>> = {
  'GET agents': ({ session }) => json(200, { agents: session.agents }),
  async 'POST agents'({ request, session }, { registryView }) {
    const { ref } = await bodyOf(request)
    if (typeof ref !== 'string' || ref.trim() === '') return refusal(400, 'Name an agent: an address, or a card’s')
    const named = ref.trim()
    const [, namespace, name] = /^registry:([^/]+)\/(.+)$/.exec(named) ?? []
    if (namespace !== undefined && name !== undefined) {
      if (!(await registryView?.knows(namespace, name)))
        return refusal(404, `The registry knows no ${namespace}/${name}`)
      return session.name(named, 'registry') ? json(200, { ref: named }) : tooMany()
    }
    if (hasCredentials(named))
      return refusal(400, 'Leave the name and the password out of the address: credentials are given under Access')
    if (!isAddress(named)) return refusal(400, `${named.slice(0, 100)} is no address: begin with http:// or https://`)
    cardLocations(named) // throws in plain words for what cannot be one
    return session.name(named, 'pasted') ? json(200, { ref: named }) : tooMany()
  },
  'DELETE agents'({ url, session }) {
    session.unname(refOf(url))
    return json(200, {})
  },
  async 'PUT trust'({ request, session }) {
    const { ref, scheme = '', credential, allowsOrigins } = await bodyOf(request)
    if (typeof ref !== 'string' || !session.has(ref)) return unknown()
    const given = credential === undefined || credential === null ? credential : readCredential(credential)
    if (typeof scheme !== 'string' || (credential !== undefined && given === undefined))
      return refusal(400, 'That is no credential')
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
    // The way back begins at another site, from where a strict cookie does not come along.
    const facts = { path: callbackPath, sameSite: 'Lax', seconds: 600, publicUrl } as const
    return json(200, {}, { 'set-cookie': cookieFor(request, 'login', browser, facts) })
  },
  async 'GET card'({ url, session }, parts) {
    const ref = refOf(url)
    return session.has(ref) ? json(200, await viewCard(session, ref, parts)) : unknown()
  },
  async 'POST probe'({ request, session }, parts) {
    const { ref, text } = await bodyOf(request)
    if (typeof ref !== 'string' || !session.has(ref)) return unknown()
    session.connections.forget(ref)
    return json(200, await probeAgent(session, ref, { ...parts, ...(typeof text === 'string' && { text }) }))
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
    return call ? json(200, call.view()) : refusal(404, 'This call is not remembered any more')
  },
  async 'POST file'({ request }) {
    const { url, mediaType, filename } = await bodyOf(request)
    if (typeof url !== 'string') return refusal(400, 'Which file?')
    const part = {
      url,
      ...(typeof mediaType === 'string' && { mediaType }),
      ...(typeof filename === 'string' && { filename }),
    }
    // An agent wrote the link: it leads to the internet by https, or nowhere.
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
    if (push.length === 0) return refusal(404, 'This console cannot see dead letters')
    const lists = await Promise.all(push.map((each) => each.deadLetters()))
    return json(200, { letters: lists.flatMap((letters, place) => letters.map((each) => placed(each, place))) })
  },
  async 'POST redeliver'({ url }, { push }) {
    const [, place, id = ''] = /^(\d{1,6})\/(.+)$/s.exec(textOf(url, 'id')) ?? []
    const outcome = await push[Number(place)]?.redeliver(id)
    return outcome ? json(200, outcome) : refusal(404, 'There is no such dead letter')
  },
  'GET registry': ({ url }, { registryView }) => registryView?.list(url.searchParams) ?? noRegistry(),
  'GET registry/agent': ({ url }, { registryView }) =>
    registryView?.agent(textOf(url, 'namespace'), textOf(url, 'name')) ?? noRegistry(),
  'GET registry/health': ({ url }, { registryView }) =>
    registryView?.agent(textOf(url, 'namespace'), textOf(url, 'name'), 'health') ?? noRegistry(),
  'DELETE registry/agent': ({ url }, { registryView }) =>
    registryView?.withdraw(textOf(url, 'namespace'), textOf(url, 'name'), url.searchParams) ?? noRegistry(),
  async 'PUT registry/agent'({ request, session }, parts) {
    const { ref, namespace, name, ttlSeconds } = await bodyOf(request)
    if (typeof ref !== 'string' || !session.has(ref)) return unknown()
    if (typeof namespace !== 'string' || typeof name !== 'string') return refusal(400, 'Under which name?')
    if (!parts.registryView) return noRegistry()
    const { raw } = await viewCard(session, ref, parts)
    return parts.registryView.publish(namespace, name, {
      card: raw,
      ...(typeof ttlSeconds === 'number' && { ttlSeconds }),
    })
  },
}

/** Answers, or says in words what went wrong. */
export async function answerRoute(path: string, call: RouteCall, parts: RouteDeps): Promise<Response> {
  const route = Object.hasOwn(routes, `${call.request.method} ${path}`)
    ? routes[`${call.request.method} ${path}`]
    : undefined
  if (!route) return refusal(404, 'There is nothing here')
  try {
    return await route(call, parts)
  } catch (caught) {
    const error = describeError(caught)
    const isOurFault = error.code === 'INTERNAL_ERROR' && !('failure' in (error.details.metadata ?? {}))
    const words = isOurFault && caught instanceof TypeError ? caught.message : error.message
    const status = error.code === 'PAYLOAD_TOO_LARGE' ? 413 : isOurFault && words === error.message ? 500 : 422
    return refusal(status, words, error.details.metadata?.failure ?? error.code)
  }
}

/** Servers with stores of their own give the same ids to different letters. */
function placed(letter: DeadDelivery, place: number): DeadDelivery {
  return { ...letter, id: `${place}/${letter.id}` }
}

async function bodyOf(request: Request): Promise<Record<string, unknown>> {
  const body = parseJson(await readBody(request, maxBodyBytes))
  if (!isObject(body)) throw new TypeError('The body is no JSON object')
  return body
}

function refOf(url: URL): string {
  return textOf(url, 'ref')
}

function textOf(url: URL, name: string): string {
  return url.searchParams.get(name) ?? ''
}

function unknown(): Response {
  return refusal(404, 'This agent was not named here: add it first')
}

function tooMany(): Response {
  return refusal(429, 'There are too many agents: remove some')
}

function noRegistry(): Response {
  return refusal(404, 'This console has no registry: start it with --registry')
}

/** An address is shown to everybody who looks, kept in the browser, and told to whoever is sent a link. */
function hasCredentials(address: string): boolean {
  const whole = /^https?:/i.test(address) ? address : `http://${address}`
  if (!canParseUrl(whole)) return false
  const { username, password } = new URL(whole)
  return username !== '' || password !== ''
}
