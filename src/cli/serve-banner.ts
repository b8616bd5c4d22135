/** What `serve` says when it is ready: where everything is, and how to try what is not to be expected. Pure. */
import { withoutTrailingSlashes } from '../model/trim-end.js'
import type { DialectChoice, DialectName } from '../server/index.js'

export interface BannerFacts {
  /** Ends in a slash. */
  readonly url: string
  readonly dialects: DialectChoice | undefined
  readonly hasApiKey: boolean
  readonly hasGrpc: boolean
}

/** Lines of a label and what it stands for. */
export function bannerLines({ url, dialects, hasApiKey, hasGrpc }: BannerFacts): readonly string[] {
  const base = withoutTrailingSlashes(url)
  const offered = offeredIn(dialects)
  const common = new Set(offered.filter(({ path }) => path === undefined).map(({ dialect }) => dialect))
  const hasAny = (...names: DialectName[]) => names.some((name) => common.has(name))
  const key = hasApiKey ? ` -H "X-API-Key: $API_KEY"` : ''
  return [
    ...(hasAny('v1', 'v0.3', 'v0.1') ? [line('JSON-RPC', `POST ${url}`)] : []),
    ...(hasAny('v1', 'v0.3') ? [line('HTTP+JSON', `POST ${base}${hasAny('v1') ? '' : '/v1'}/message:send`)] : []),
    ...(hasGrpc && hasAny('v1', 'v0.3') ? [line('gRPC', authorityOf(url))] : []),
    ...(hasAny('v1', 'v0.3', 'v0.1', 'task-rest', 'chat-rpc')
      ? [line('card', `GET  ${base}/.well-known/agent-card.json`)]
      : []),
    ...offered.flatMap(({ dialect, path }) => {
      if (path === undefined && isUsual(dialect)) return []
      const { at, body } = dialect === 'chat-rpc' && path !== undefined ? { ...tries[dialect], at: '' } : tries[dialect]
      const address = `${base}${path ?? ''}${at}`
      return [
        line(dialect, `POST ${address}`),
        line('', `curl ${address} -H 'content-type: application/json'${key} -d '${JSON.stringify(body)}'`),
      ]
    }),
  ]
}

/** `host:port`, as on the card. */
function authorityOf(url: string): string {
  const { protocol, hostname, port } = new URL(url)
  return `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
}

function line(label: string, words: string): string {
  return `  ${label.padEnd(9)}  ${words}`
}

/** Where it stands when nothing else is said; the same as the server has it. */
function offeredIn(
  choice: DialectChoice = usual,
): readonly { readonly dialect: DialectName; readonly path?: string }[] {
  const names = choice === 'all' ? (Object.keys(tries) as DialectName[]) : choice // one example for each of them
  return names.map((each) => {
    if (typeof each !== 'string') return { ...each, path: withoutTrailingSlashes(each.path) }
    return each === 'v0.1-go' ? { dialect: each, path: '/go' } : { dialect: each }
  })
}

const usual = ['v1', 'v0.3', 'v0.1'] as const

function isUsual(dialect: DialectName): boolean {
  return usual.some((name) => name === dialect)
}

interface Try {
  /** Below the agent's address, or below the path that the dialect is pinned to. */
  readonly at: string
  readonly body: object
}

const typed = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }
const kinded = { kind: 'message', messageId: '1', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }
const call = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })

const tries: Readonly<Record<DialectName, Try>> = {
  v1: {
    at: '/message:send',
    body: { message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hi' }] } },
  },
  'v0.3': { at: '', body: call('message/send', { message: kinded }) },
  'v0.1': { at: '', body: call('tasks/send', { id: 'job-1', message: typed }) },
  'v0.1-go': { at: '', body: call('tasks/send', { id: 'job-2', message: typed }) },
  'task-rest': { at: '/tasks/send', body: { message: typed } },
  invoke: { at: '/a2a/invoke', body: { input: 'hi' } },
  'chat-rpc': { at: '/api/v1/a2a', body: call('message/send', { message: kinded }) },
}
