/** Serves cards and keys, encoded once for all readers, with validators and conditional responses (R-CARD-5). */

import { setTimeout as pause } from 'node:timers/promises'
import { askedVersion, versionNotSupported } from '../dialects/negotiate.js'
import { A2AError } from '../model/errors.js'
import type { Signer } from '../signing/signer.js'
import type { AnswerExchange, Exchange, HttpAnswer } from '../transports/exchange.js'
import { readVersion } from '../transports/transport.js'
import type { EncodedCards } from './card-forms.js'
import { isRead, onlyReads } from './health.js'

const maxAgeSeconds = 300

interface CardServer {
  /** Whether a request is for a card. */
  has(method: string, path: string): boolean
  /** Answers a request for a card. */
  answer(exchange: Exchange, path: string): Promise<HttpAnswer>
}

interface Resource {
  readonly body: string
  readonly mediaType: string
  readonly etag: string
}

interface Variants {
  /** There is one card for all versions. */
  readonly isForAll: boolean
  /** For readers that name no version. */
  readonly unversioned: Promise<Resource> | undefined
  readonly byVersion: ReadonlyMap<string, Promise<Resource>>
}

interface Serving {
  readonly lastModified: Date
  /** Request headers that select the response. */
  readonly vary: string
  /** The card requires authentication: shared caches must not store it. */
  readonly isProtected: boolean
  /** Encodes the error for readers of versions without a card. */
  refuse(exchange: Exchange, error: A2AError): HttpAnswer | Promise<HttpAnswer>
}

export function createCardServer(
  cards: CurrentCards,
  { startedMs, ...serving }: Omit<Serving, 'lastModified'> & { readonly startedMs: number },
): CardServer {
  let shown = cards.first
  let resources = resourcesOf(shown)
  let lastModified = toSeconds(startedMs)
  return {
    // Nearly every request is for something else.
    has: (method, path) => isRead(method) && path.includes('/.well-known/') && resources.has(path),
    async answer(exchange, path) {
      const now = cards.shown()
      if (now !== shown) {
        shown = now
        resources = resourcesOf(now)
        lastModified = toSeconds(Date.now())
      }
      return await answer(exchange, resources.get(path) as Variants, { lastModified, ...serving }) // `has` was true
    },
  }
}

function resourcesOf(cards: EncodedCards): ReadonlyMap<string, Variants> {
  const resources = new Map<string, Variants>()
  const add = (path: string, unversioned: object | undefined, byVersion?: ReadonlyMap<string, object>) =>
    resources.set(path, {
      isForAll: byVersion === undefined,
      unversioned: unversioned && resourceOf(unversioned),
      byVersion: new Map([...(byVersion ?? [])].map(([version, card]) => [version, resourceOf(card)])),
    })
  add('/.well-known/agent-card.json', cards.unversioned, cards.byVersion)
  if (cards.legacy) add('/.well-known/agent.json', cards.legacy)
  for (const [path, card] of cards.pinned) {
    add(`${path}/.well-known/agent-card.json`, card)
    add(`${path}/.well-known/agent.json`, card)
  }
  return resources
}

async function answer(exchange: Exchange, variants: Variants, serving: Serving): Promise<HttpAnswer> {
  const resource = await choose(exchange, variants)
  if (resource) return respond(exchange, resource, serving)
  if (!variants.unversioned) return await serving.refuse(exchange, new A2AError('METHOD_NOT_FOUND', 'Card not found'))
  const asked = askedVersion(readVersion(exchange.headers, exchange.query)) ?? ''
  return await serving.refuse(exchange, versionNotSupported([...variants.byVersion.keys()], asked))
}

/** Serves the current public keys. Custom signers may change them at any time. */
export function createJwksServer(signer: Pick<Signer, 'jwks'>): AnswerExchange {
  return async (exchange) =>
    isRead(exchange.method) ? respond(exchange, await resourceOf(signer.jwks(), 'application/jwk-set+json')) : onlyReads
}

function respond(
  exchange: Exchange,
  { body, mediaType, etag }: Resource,
  { lastModified, vary, isProtected = false }: Partial<Omit<Serving, 'refuse'>> = {},
): HttpAnswer {
  const headers = {
    etag,
    ...(lastModified && { 'last-modified': lastModified.toUTCString() }),
    'cache-control': `${isProtected ? 'private' : 'public'}, max-age=${maxAgeSeconds}`,
    ...(vary !== undefined && { vary }),
  }
  if (isFresh(exchange, etag, lastModified)) return { status: 304, headers }
  return { status: 200, headers: { 'content-type': mediaType, ...headers }, body }
}

/** HTTP dates have a resolution of one second. */
function toSeconds(timeMs: number): Date {
  return new Date(Math.floor(timeMs / 1000) * 1000)
}

/** Chooses the card by the version that the reader names, unless there is one card for all versions. */
function choose(exchange: Exchange, { unversioned, byVersion, isForAll }: Variants): Promise<Resource> | undefined {
  if (isForAll) return unversioned
  const asked = askedVersion(readVersion(exchange.headers, exchange.query))
  return asked === undefined ? unversioned : byVersion.get(asked)
}

async function resourceOf(content: object, mediaType = 'application/json'): Promise<Resource> {
  const body = JSON.stringify(content)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(body))
  return { body, mediaType, etag: `"${Buffer.from(digest).toString('base64url').slice(0, 22)}"` }
}

/** `If-None-Match` takes precedence over `If-Modified-Since` (RFC 9110). */
function isFresh({ headers }: Exchange, etag: string, lastModified: Date | undefined): boolean {
  const noneMatch = headers.get('if-none-match')
  if (noneMatch !== null) {
    return noneMatch.split(',').some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === etag)
  }
  const since = Date.parse(headers.get('if-modified-since') ?? '')
  return lastModified !== undefined && lastModified.getTime() <= since // false for NaN
}

export interface CurrentCards {
  /** The first cards. Later ones exist for the same paths and versions. */
  readonly first: EncodedCards
  /** The latest cards, without waiting. For public requests. */
  shown(): EncodedCards
  /** The latest cards, after cards in preparation are complete. For infrequent readers such as registries. */
  now(): Promise<EncodedCards>
}

/** Minimum time between a failure of the signer and the next attempt. */
const betweenAttemptsMs = 5000
/** Time after which an attempt counts as failed. */
const maxAttemptMs = 30_000

export async function currentCards(
  encode: () => Promise<EncodedCards>,
  signer: Signer | undefined,
  onFailure: (error: unknown) => void,
): Promise<CurrentCards> {
  const keysNow = () => signer && JSON.stringify(signer.jwks())
  let keys = keysNow()
  const first = await encode()
  let cards = first
  let making: Promise<void> | undefined
  let failedAt = Number.NEGATIVE_INFINITY

  const make = async (wanted: string | undefined): Promise<void> => {
    try {
      cards = await within(maxAttemptMs, encode())
      keys = wanted
    } catch (error) {
      failedAt = performance.now()
      onFailure(error)
    }
  }

  const begin = (): void => {
    if (making || performance.now() - failedAt < betweenAttemptsMs) return
    const wanted = keysNow()
    if (wanted === keys) return
    making = make(wanted).finally(() => {
      making = undefined
    })
  }

  return {
    first,
    shown() {
      begin()
      return cards
    },
    async now() {
      begin()
      await making
      return cards
    },
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const over = new AbortController()
  const late = pause(ms, undefined, { ref: false, signal: over.signal }).then(() => {
    throw new Error(`The signer has not answered for ${ms / 1000} seconds`)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    over.abort()
  }
}
