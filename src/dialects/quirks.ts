/**
 * Differences between SDKs that the protocol does not settle, by the user agent of the peer. Decoding and encoding use
 * the same table; `docs/dialects.md` is generated from it.
 */
import type { CallFacts } from './dialect.js'

/**
 * Content of `file_with_bytes` in 0.3 over gRPC and HTTP+JSON (R3-PB-12): the bytes themselves, or the bytes of their
 * base64 text. `guessed` reads canonical base64 text as such and everything else as raw bytes, and writes base64 text.
 */
export type FileEncoding = 'raw' | 'base64' | 'guessed'

export interface Quirks {
  readonly fileBytes: FileEncoding
  /** Form of an error before the first event, for JSON-RPC callers that accept only event streams (R-STRM-11). */
  readonly streamErrors: 'event' | 'body'
}

interface PeerQuirks extends Quirks {
  /** Name of the peer in the documentation. */
  readonly peer: string
  /** Product names in its user agents, in lower case. */
  readonly products: readonly string[]
}

const javaScript: Quirks = { fileBytes: 'raw', streamErrors: 'body' }
const others: Quirks = { fileBytes: 'base64', streamErrors: 'event' }

/** The first row with a product of the user agent applies: our gRPC client sends `grpc-node-js` after `dragoman`. */
export const peerQuirks: readonly PeerQuirks[] = [
  { peer: 'Dragoman', products: ['dragoman'], ...others },
  { peer: 'Node.js', products: ['node', 'undici', 'node-fetch', 'axios', 'grpc-node-js'], ...javaScript },
  { peer: 'Deno', products: ['deno'], ...javaScript },
  { peer: 'Bun', products: ['bun'], ...javaScript },
  {
    peer: 'Python',
    products: [
      'python',
      'python-httpx',
      'python-requests',
      'python-urllib',
      'aiohttp',
      'grpc-python',
      'grpc-python-asyncio',
    ],
    ...others,
  },
  { peer: 'Go', products: ['go-http-client', 'grpc-go'], ...others },
  {
    peer: 'Java',
    products: ['java', 'java-http-client', 'okhttp', 'vert.x-webclient', 'grpc-java-netty', 'grpc-java-okhttp'],
    ...others,
  },
]

/** Browsers, peers without a user agent, and peers without a row. */
export const unknownPeer: Quirks = { fileBytes: 'guessed', streamErrors: 'event' }

const ranks: ReadonlyMap<string, number> = new Map(
  peerQuirks.flatMap(({ products }, rank) => products.map((product) => [product, rank])),
)

const maxUserAgentLength = 256

/** The last user agent and its quirks: a call asks for them two or three times. */
let lastUserAgent = ''
let lastQuirks = unknownPeer

export function quirksOf(facts: CallFacts | undefined): Quirks {
  const userAgent = facts?.header('user-agent') ?? ''
  if (userAgent !== lastUserAgent) {
    lastQuirks = findQuirks(userAgent)
    lastUserAgent = userAgent
  }
  return lastQuirks
}

function findQuirks(userAgent: string): Quirks {
  let rank = peerQuirks.length
  for (const product of userAgent.slice(0, maxUserAgentLength).toLowerCase().split(' ')) {
    const slash = product.indexOf('/')
    rank = Math.min(rank, ranks.get(slash < 0 ? product : product.slice(0, slash)) ?? rank)
  }
  return peerQuirks[rank] ?? unknownPeer
}
