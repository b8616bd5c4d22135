/**
 * An A2A agent in Vercel's AI SDK: as a language model, and behind `useChat`.
 * Run it: `npx tsx ai-sdk.ts`, or `node ai-sdk.ts` with Node 22.18 or newer.
 */
import { generateText } from 'ai'
import { agent, ask, serve } from 'dragoman'
import { asModel, chatEndpoint } from 'dragoman/ai-sdk'

const tailor = agent('Tailor', async function* ({ text, number }) {
  if (number === 1) yield ask('Which colour?')
  yield `A ${text} suit`
})

// A page needs no changes: useChat({ transport: new DefaultChatTransport({ api: 'http://localhost:8001/api/chat' }) })
const server = await serve(tailor, { port: Number(process.env.PORT ?? 8001), endpoints: [chatEndpoint()] })

const model = asModel(server.url)
const prompt = { role: 'user' as const, content: 'I need a suit' }
const question = await generateText({ model, messages: [prompt] })
console.log(question.text)
// The answer in the conversation names the task, so the next message answers the question.
const messages = [prompt, ...question.response.messages, { role: 'user' as const, content: 'blue' }]
const answer = await generateText({ model, messages })
console.log(answer.text)

await server.close()
