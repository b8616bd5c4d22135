/** A call as something to run elsewhere. Secrets were taken out before: their places have names. Pure. */

import type { CallView, WireLine } from 'dragoman/console'
import { clientDialects } from 'dragoman/dialects'

export function asCurl({ wire, binding, url }: CallView): string {
  const last = wire.findLast(isAsked)
  if (!last) return ''
  if (binding === 'GRPC') {
    const plain = url.startsWith('https') ? '' : '-plaintext '
    const host = url
      .replace(/^\w+:\/\//, '')
      .split('/', 1)
      .join()
    const body = typeof last.body === 'string' ? last.body : JSON.stringify(last.body ?? {})
    return `grpcurl ${plain}-d ${quoted(body)} ${quoted(host)} ${quoted(`lf.a2a.v1.A2AService/${last.what}`)}`
  }
  const [method = 'GET', address = ''] = last.what.split(' ')
  const headers = Object.entries(last.headers ?? {})
    .filter(([name]) => !/^(content-length|host|connection)$/i.test(name))
    .map(
      ([name, value]) => `  -H ${value === redacted ? `${quoted(`${name}: `)}"$SECRET"` : quoted(`${name}: ${value}`)}`,
    )
  const body = typeof last.body === 'string' ? [`  --data-raw ${quoted(last.body)}`] : []
  return [`curl -N -X ${quoted(method)} ${quoted(address)}`, ...headers, ...body].join(' \\\n')
}

export function asTypescript(call: CallView): string {
  const { operation, dialect, binding } = call
  const request = requestIn(call)
  const isStream = operation === 'sendStreamingMessage' || operation === 'subscribeToTask'
  const options = [`dialect: ${JSON.stringify(dialect)}`, `binding: ${JSON.stringify(binding)}`, ...secretsIn(call)]
  const said = `agent.${operation}(${JSON.stringify(request, null, 2)})`
  return [
    "import { connect } from 'dragoman/client'",
    '',
    `const agent = await connect(${JSON.stringify(placeOf(call))}, { ${options.join(', ')} })`,
    isStream
      ? `for await (const { event } of ${said}) console.log(JSON.stringify(event))`
      : `console.log(JSON.stringify(await ${said}))`,
    'await agent.close()',
    '',
  ].join('\n')
}

const redacted = '[redacted]'

/** Whoever runs it may know no registry: the agent that was found there is at an address. */
function placeOf({ ref, url }: CallView): string {
  return ref.startsWith('registry:') && URL.canParse(url) && /^https?:/.test(url) ? new URL(url).origin : ref
}

/** What was taken out is to be put in again. */
function secretsIn({ wire }: CallView): readonly string[] {
  const sent = wire.findLast(isAsked)
  const names = Object.entries(sent?.headers ?? {}).flatMap(([name, value]) => (value === redacted ? [name] : []))
  if (names.length === 0) return []
  return [`headers: { ${names.map((name) => `${JSON.stringify(name)}: process.env.SECRET ?? ''`).join(', ')} }`]
}

/** The call itself, not what had to be found out before. */
function isAsked({ direction, binding }: WireLine): boolean {
  return direction === 'request' && binding !== 'card' && binding !== 'keys'
}

/** What was asked, in v1.0's words as far as the wire tells. */
function requestIn({ wire, taskId, operation, dialect }: CallView): unknown {
  const sent = wire.find(isAsked)
  const isAboutTask = ['getTask', 'cancelTask', 'subscribeToTask'].includes(operation)
  if (isAboutTask && taskId !== undefined) return { id: taskId }
  const body = typeof sent?.body === 'string' ? parsed(sent.body) : sent?.body
  const params = (body as { readonly params?: unknown } | undefined)?.params ?? body ?? {}
  if (dialect === clientDialects[0]?.name) return params
  const text = /"text":\s*("(?:[^"\\]|\\.)*")/.exec(JSON.stringify(params))?.[1] ?? '""'
  return { message: { messageId: '1', role: 'ROLE_USER', parts: [{ text: JSON.parse(text) as unknown }] } }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
