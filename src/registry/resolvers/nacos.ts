import type { CardResolver } from '../../client/resolve-name.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import { isObject } from '../../model/is-object.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import { TransportError } from '../../model/transport-error.js'
import { withoutTrailingSlashes } from '../../model/trim-end.js'
import { readJsonAtMost } from '../../net/read-at-most.js'

export interface NacosResolverOptions {
  /** Default `public`. */
  readonly namespaceId?: string
  /** Default: the latest. */
  readonly version?: string
  /** As Nacos gives it out at login; a function is asked for every look-up, so that it can be renewed. */
  readonly accessToken?: string | (() => string | Promise<string>)
  /** Default 10 s. */
  readonly timeoutMs?: number
  readonly fetch?: typeof fetch
}

const optionNames = {
  namespaceId: true,
  version: true,
  accessToken: true,
  timeoutMs: true,
  fetch: true,
} satisfies NamesOf<NacosResolverOptions>

/** One card, and what Nacos adds to it. */
const maxAnswerBytes = 2 * 1024 * 1024

/**
 * Finds agents in Nacos 3.1 or later, by its HTTP API.
 *
 * ```ts
 * await connect('weather', { resolvers: [nacosResolver('http://nacos.internal:8848')] })
 * ```
 */
export function nacosResolver(url: string, options: NacosResolverOptions = {}): CardResolver {
  assertOptions('nacosResolver', options, optionNames)
  if (!canParseUrl(url)) throw new TypeError(`${JSON.stringify(url)} is no address of a Nacos server`)
  const { namespaceId = 'public', version, accessToken, timeoutMs = 10_000 } = options
  const fetch = options.fetch ?? globalThis.fetch
  const base = withoutTrailingSlashes(url).replace(/\/nacos$/, '')
  const resolve: CardResolver = async (agentName) => {
    const token = typeof accessToken === 'function' ? await accessToken() : accessToken
    const query = new URLSearchParams({ namespaceId, agentName, ...(version !== undefined && { version }) })
    const { status, body } = await get(`${base}/nacos/v3/admin/ai/a2a?${query}`)
    if (status === 404) return undefined
    const { code, data, message } = isObject(body) ? body : {}
    if (status === 200 && code === 0 && isObject(data)) return cardOf(data)
    if (status === 401 || status === 403)
      throw new TransportError('refused', `Nacos at ${base} does not let us in: ${said(message)}`)
    throw new TransportError('bad-answer', `Nacos at ${base} answers with HTTP ${status}: ${said(message)}`)

    async function get(address: string): Promise<{ readonly status: number; readonly body: unknown }> {
      try {
        const response = await fetch(address, {
          headers: token === undefined ? {} : { accessToken: token },
          redirect: 'error',
          signal: AbortSignal.timeout(timeoutMs),
        })
        return { status: response.status, body: await readJsonAtMost(response, maxAnswerBytes) }
      } catch (cause) {
        throw new TransportError('unreachable', `Nacos at ${base} cannot be reached`, { cause })
      }
    }
  }
  return Object.assign(resolve, { source: base })
}

/** Without what Nacos adds, and without the members it leaves empty: to a reader of cards, those are there. */
function cardOf({ registrationType: _type, ...card }: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(card).filter(([, value]) => value !== null))
}

function said(message: unknown): string {
  return typeof message === 'string' ? message.slice(0, 200) : 'no reason given'
}
