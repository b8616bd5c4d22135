/** Converts a call to a curl command or a TypeScript program, with placeholders for removed secrets. */
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

/** An agent from a registry is addressed by its origin, because the program may run without the registry. */
function placeOf({ ref, url }: CallView): string {
  return ref.startsWith('registry:') && URL.canParse(url) && /^https?:/.test(url) ? new URL(url).origin : ref
}

/** Placeholders for removed secrets. */
function secretsIn({ wire }: CallView): readonly string[] {
  const sent = wire.findLast(isAsked)
  const names = Object.entries(sent?.headers ?? {}).flatMap(([name, value]) => (value === redacted ? [name] : []))
  if (names.length === 0) return []
  return [`headers: { ${names.map((name) => `${JSON.stringify(name)}: process.env.SECRET ?? ''`).join(', ')} }`]
}

/** Whether the entry is a request of the call itself, not for a card or keys. */
function isAsked({ direction, binding }: WireLine): boolean {
  return direction === 'request' && binding !== 'card' && binding !== 'keys'
}

/** The request in v1.0 format, as far as it can be derived from the recorded one. */
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
