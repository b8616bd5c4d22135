/** A call as something to run elsewhere. Secrets were taken out before: their places have names. Pure. */
import type { CallView } from 'dragoman/console'

export function asCurl({ wire, binding, url }: CallView): string {
  const requests = wire.filter(
    ({ direction, binding: over }) => direction === 'request' && over !== 'card' && over !== 'keys',
  )
  const last = requests.at(-1)
  if (!last) return ''
  if (binding === 'GRPC') {
    const plain = url.startsWith('https') ? '' : '-plaintext '
    const host = url.replace(/^\w+:\/\//, '').replace(/\/.*$/, '')
    return `grpcurl ${plain}-d ${quoted(JSON.stringify(last.body ?? {}))} ${host} lf.a2a.v1.A2AService/${last.what}`
  }
  const [method = 'GET', address = ''] = last.what.split(' ')
  const headers = Object.entries(last.headers ?? {})
    .filter(([name]) => !/^(content-length|host|connection)$/i.test(name))
    .map(([name, value]) => `  -H ${quoted(`${name}: ${value === '[redacted]' ? '$SECRET' : value}`)}`)
  const body = typeof last.body === 'string' ? [`  --data-raw ${quoted(last.body)}`] : []
  return [`curl -N -X ${method} ${quoted(address)}`, ...headers, ...body].join(' \\\n')
}

export function asTypescript(call: CallView): string {
  const { ref, operation, dialect, binding } = call
  const request = requestIn(call)
  const isStream = operation === 'sendStreamingMessage' || operation === 'subscribeToTask'
  const options = `{ dialect: ${JSON.stringify(dialect)}, binding: ${JSON.stringify(binding)} }`
  const said = `agent.${operation}(${JSON.stringify(request, null, 2)})`
  return [
    "import { connect } from 'dragoman/client'",
    '',
    `await using agent = await connect(${JSON.stringify(ref)}, ${options})`,
    isStream ? `for await (const { event } of ${said}) console.log(event)` : `console.log(await ${said})`,
    '',
  ].join('\n')
}

/** What was asked, in v1.0's words as far as the wire tells. */
function requestIn({ wire, taskId, operation, dialect }: CallView): unknown {
  const sent = wire.find(
    ({ direction, binding }) => direction === 'request' && binding !== 'card' && binding !== 'keys',
  )
  const isAboutTask = ['getTask', 'cancelTask', 'subscribeToTask'].includes(operation)
  if (isAboutTask && taskId !== undefined) return { id: taskId }
  const body = typeof sent?.body === 'string' ? parsed(sent.body) : sent?.body
  const params = (body as { readonly params?: unknown } | undefined)?.params ?? body ?? {}
  if (dialect === 'v1') return params
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
