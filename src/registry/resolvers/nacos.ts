import type { CardResolver } from '../../client/resolve-name.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import { isObject } from '../../model/is-object.js'
import { assertOptions, type NamesOf } from '../../model/option-names.js'
import { TransportError } from '../../model/transport-error.js'
import { withoutTrailingSlashes } from '../../model/trim-end.js'
import { readJsonAtMost } from '../../net/read-at-most.js'

/** Options of `nacosResolver`. */
export interface NacosResolverOptions {
  /** Namespace of the agents. Default `public`. */
  readonly namespaceId?: string
  /** Version of the agents. Default: the latest. */
  readonly version?: string
  /** Access token of Nacos. A function is called for every lookup, so that it can renew the token. */
  readonly accessToken?: string | (() => string | Promise<string>)
  /** Time limit of a lookup. Default 10 s. */
  readonly timeoutMs?: number
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch
}

const optionNames = {
  namespaceId: true,
  version: true,
  accessToken: true,
  timeoutMs: true,
  fetch: true,
} satisfies NamesOf<NacosResolverOptions>

const maxAnswerBytes = 2 * 1024 * 1024

/**
 * Creates a resolver that finds agents in Nacos 3.1 or later, with its HTTP API.
 *
 * ```ts
 * await connect('weather', { resolvers: [nacosResolver('http://nacos.internal:8848')] })
 * ```
 */
export function nacosResolver(url: string, options: NacosResolverOptions = {}): CardResolver {
  assertOptions('nacosResolver', options, optionNames)
  if (!canParseUrl(url)) throw new TypeError(`The URL of the Nacos server is invalid: ${JSON.stringify(url)}`)
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
      throw new TransportError('refused', `Nacos at ${base} rejected the credentials: ${reasonIn(message)}`)
    throw new TransportError('bad-answer', `Nacos at ${base} answers with HTTP ${status}: ${reasonIn(message)}`)

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

/** Removes the member that Nacos adds, and null members. */
function cardOf({ registrationType: _type, ...card }: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(card).filter(([, value]) => value !== null))
}

function reasonIn(message: unknown): string {
  return typeof message === 'string' ? message.slice(0, 200) : 'no reason given'
}
