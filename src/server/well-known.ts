/** The Agent Card as a resource: made once, with validators and conditional answers (R-CARD-5). */
import type { Dialect } from '../dialects/dialect.js'
import { negotiate } from '../dialects/negotiate.js'
import type { AgentCard } from '../model/agent-card.js'
import { A2AError } from '../model/errors.js'
import { restError } from '../transports/rest/server.js'
import { readParameters } from '../transports/transport.js'

const maxAgeSeconds = 300

export type CardServer = (request: Request) => Promise<Response>

export function createCardServer(card: AgentCard, dialects: readonly Dialect[], startedMs: number): CardServer {
  const lastModified = new Date(Math.floor(startedMs / 1000) * 1000)
  const spelled = new Map(dialects.map((dialect) => [dialect, spell(dialect.encodeCard(card))]))
  return async (request) => {
    try {
      // A reader that names no version gets the newest card there is.
      const dialect = negotiate(dialects, {
        version: readParameters(request).version,
        isSpokenIn: () => true,
        assumeV1: true,
      })
      const { body, etag } = await (spelled.get(dialect) as ReturnType<typeof spell>) // every offered dialect was spelled
      const headers = {
        etag,
        'last-modified': lastModified.toUTCString(),
        'cache-control': `public, max-age=${maxAgeSeconds}`,
        vary: 'A2A-Version',
      }
      if (isFresh(request, etag, lastModified)) return new Response(null, { status: 304, headers })
      return new Response(request.method === 'HEAD' ? null : body, {
        headers: { 'content-type': 'application/json', ...headers },
      })
    } catch (error) {
      return restError(A2AError.from(error), dialects[0] as Dialect) // a server offers at least one
    }
  }
}

async function spell(card: object): Promise<{ readonly body: string; readonly etag: string }> {
  const body = JSON.stringify(card)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(body))
  return { body, etag: `"${Buffer.from(digest).toString('base64url').slice(0, 22)}"` }
}

/** `If-None-Match` decides alone when it is there (RFC 9110). */
function isFresh({ headers }: Request, etag: string, lastModified: Date): boolean {
  const noneMatch = headers.get('if-none-match')
  if (noneMatch !== null) {
    return noneMatch.split(',').some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === etag)
  }
  const since = Date.parse(headers.get('if-modified-since') ?? '')
  return !Number.isNaN(since) && lastModified.getTime() <= since
}
