/**
 * A tailor behind AG-UI, and the official client that answers its question.
 * Run it: `npx tsx ag-ui.ts`, or `node ag-ui.ts` with Node 22.18 or newer.
 */
import { HttpAgent } from '@ag-ui/client'
import { agent, ask, serve } from 'dragoman'
import { agUiEndpoint } from 'dragoman/ag-ui'

const tailor = agent('Tailor', async function* ({ text, number }) {
  if (number === 1) yield ask('Which colour?')
  yield `A ${text} suit`
})

const server = await serve(tailor, { port: Number(process.env.PORT ?? 8001), endpoints: [agUiEndpoint()] })
const client = new HttpAgent({ url: new URL('/ag-ui', server.url).href })

client.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'I need a suit' })
await client.runAgent()
const [interrupt] = client.pendingInterrupts
console.log(interrupt?.message)

await client.runAgent({ resume: [{ interruptId: interrupt?.id ?? '', status: 'resolved', payload: 'blue' }] })
console.log(client.messages.at(-1)?.content)

await server.close()
