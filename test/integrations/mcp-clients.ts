/** MCP clients of two majors, behind one interface. */
import {
  Client,
  type ElicitRequestParams,
  type ElicitResult,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from 'mcp-sdk-v1/client/index.js'
import { StdioClientTransport as StdioV1 } from 'mcp-sdk-v1/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from 'mcp-sdk-v1/client/streamableHttp.js'
import { ElicitRequestSchema } from 'mcp-sdk-v1/types.js'

/** The server: an address, or a command that serves MCP on its standard streams. */
export type Target =
  | { readonly url: string; readonly headers?: Record<string, string> }
  | { readonly command: string; readonly args: string[]; readonly env?: Record<string, string> }

export interface ClientOptions {
  /** Answers questions. Without it the client cannot be asked. */
  readonly answer?: (asked: ElicitRequestParams) => ElicitResult | Promise<ElicitResult>
  /** Also opens links. */
  readonly opensLinks?: boolean
}

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly onProgress?: (message: string | undefined) => void
}

/** The part of a result that tests read. */
export interface ToolAnswer {
  readonly content: readonly { readonly type: string; readonly text?: string; readonly [name: string]: unknown }[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
  readonly _meta?: Record<string, unknown>
}

export interface TestClient {
  readonly tools: () => Promise<readonly { readonly name: string; readonly inputSchema: unknown }[]>
  readonly call: (name: string, args: Record<string, unknown>, options?: CallOptions) => Promise<ToolAnswer>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

const info = { name: 'test', version: '1.0.0' }
const capabilitiesOf = ({ answer, opensLinks }: ClientOptions) =>
  answer ? { elicitation: { form: {}, ...(opensLinks && { url: {} }) } } : {}

async function connectV2(target: Target, options: ClientOptions, mode?: 'auto'): Promise<TestClient> {
  const client = new Client(info, {
    capabilities: capabilitiesOf(options),
    ...(mode && { versionNegotiation: { mode } }),
  })
  const { answer } = options
  if (answer) client.setRequestHandler('elicitation/create', ({ params }) => answer(params))
  const headers = 'url' in target ? target.headers : undefined
  await client.connect(
    'url' in target
      ? new StreamableHTTPClientTransport(new URL(target.url), headers ? { requestInit: { headers } } : {})
      : new StdioClientTransport({ ...target, stderr: 'pipe' }),
  )
  return {
    tools: async () => (await client.listTools()).tools,
    call: async (name, args, { signal, onProgress } = {}) =>
      (await client.callTool(
        { name, arguments: args },
        { ...(signal && { signal }), ...(onProgress && { onprogress: ({ message }) => onProgress(message) }) },
      )) as ToolAnswer,
    [Symbol.asyncDispose]: () => client.close(),
  }
}

async function connectV1(target: Target, options: ClientOptions): Promise<TestClient> {
  const client = new ClientV1(info, { capabilities: capabilitiesOf(options) })
  const { answer } = options
  if (answer)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({
      ...(await answer(params as ElicitRequestParams)),
    }))
  const headers = 'url' in target ? target.headers : undefined
  await client.connect(
    'url' in target
      ? new HttpV1(new URL(target.url), headers ? { requestInit: { headers } } : {})
      : new StdioV1({ ...target, stderr: 'pipe' }),
  )
  return {
    tools: async () => (await client.listTools()).tools,
    call: async (name, args, { signal, onProgress } = {}) =>
      (await client.callTool({ name, arguments: args }, undefined, {
        ...(signal && { signal }),
        ...(onProgress && { onprogress: ({ message }) => onProgress(message) }),
      })) as ToolAnswer,
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** The clients: revision 2026-07-28, the same package with an older revision, and the older package. */
export const clients: Readonly<Record<string, (target: Target, options?: ClientOptions) => Promise<TestClient>>> = {
  '2.4 auto': (target, options = {}) => connectV2(target, options, 'auto'),
  '2.4': (target, options = {}) => connectV2(target, options),
  '1.32': (target, options = {}) => connectV1(target, options),
}

export function textIn({ content }: ToolAnswer): string {
  return content.map(({ text = '' }) => text).join('\n')
}

/** The id that a result names for `a2a_reply` and `a2a_task`. */
export function taskIdIn({ _meta }: ToolAnswer): string {
  return String(_meta?.['dragoman/taskId'])
}
