/** The lines that `serve` prints when it is ready: the addresses, and an example request for each unusual dialect. Pure. */
import { chosenDialects, type Dialect } from '../dialects/index.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import type { DialectChoice } from '../server/index.js'

export interface BannerFacts {
  /** Ends in a slash. */
  readonly url: string
  readonly dialects: DialectChoice | undefined
  readonly hasApiKey: boolean
  readonly hasGrpc: boolean
}

export function bannerLines({ url, dialects, hasApiKey, hasGrpc }: BannerFacts): readonly string[] {
  const base = withoutTrailingSlashes(url)
  const offered = chosenDialects(dialects).map(({ dialect, path = dialect.defaultPath }) => ({
    dialect,
    ...(path !== undefined && { path: withoutTrailingSlashes(path) }),
  }))
  const common = offered.flatMap(({ dialect, path }) => (path === undefined ? [dialect] : []))
  const rest = common.find(({ isListed, rest: form }) => isListed && form)?.rest
  const send = rest?.routes.find(({ operation }) => operation === 'sendMessage')
  const key = hasApiKey ? ` -H "X-API-Key: $API_KEY"` : ''
  return [
    ...(common.some(({ jsonrpc }) => jsonrpc && !jsonrpc.paths) ? [line('JSON-RPC', `POST ${url}`)] : []),
    ...(send ? [line('HTTP+JSON', `${send.method} ${base}${send.path}`)] : []),
    ...(hasGrpc && common.some(({ grpc }) => grpc) ? [line('gRPC', authorityOf(url))] : []),
    ...(common.some(({ card }) => card) ? [line('card', `GET  ${base}/.well-known/agent-card.json`)] : []),
    ...offered.flatMap(({ dialect, path }) => {
      if (path === undefined && dialect.isDefault) return []
      const address = `${base}${path ?? ''}${examplePath(dialect, path !== undefined)}`
      const body = JSON.stringify(dialect.example.body)
      return [
        line(dialect.name, `POST ${address}`),
        line('', `curl ${address} -H 'content-type: application/json'${key} -d '${body}'`),
      ]
    }),
  ]
}

/** Pinned dialects have JSON-RPC at the path they are pinned to. */
function examplePath({ example, jsonrpc, rest }: Dialect, isPinned: boolean): string {
  return isPinned && !rest && jsonrpc?.paths?.includes(example.path) ? '' : example.path
}

/** `host:port`, as on the card. */
function authorityOf(url: string): string {
  const { protocol, hostname, port } = new URL(url)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

function line(label: string, words: string): string {
  return `  ${label.padEnd(9)}  ${words}`
}
