/**
 * A tailor as a tool of MCP clients, and a client whose user answers its question.
 * Run it: `npx tsx mcp.ts`, or `node mcp.ts` with Node 22.18 or newer.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { agent, ask, serve } from 'dragoman'
import { mcpEndpoint } from 'dragoman/mcp'

const tailor = agent({ name: 'Tailor', description: 'Sews suits' }, async function* ({ text, number }) {
  if (number === 1) yield ask('Which colour?')
  yield `A ${text} suit`
})

const server = await serve(tailor, { port: Number(process.env.PORT ?? 8001), endpoints: [mcpEndpoint()] })

const client = new Client(
  { name: 'example', version: '1.0.0' },
  { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'auto' } },
)
client.setRequestHandler('elicitation/create', ({ params }) => {
  console.log(params.message) // an application shows a form here
  return { action: 'accept', content: { answer: 'blue' } }
})
await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', server.url)))

const { content } = await client.callTool({ name: 'Tailor', arguments: { message: 'I need a suit' } })
if (content[0]?.type === 'text') console.log(content[0].text)

await client.close()
await server.close()
