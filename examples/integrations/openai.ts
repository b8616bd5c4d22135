/**
 * A tailor behind OpenAI's API, and the official client that orders a suit from it.
 * Run it: `npx tsx openai.ts`, or `node openai.ts` with Node 22.18 or newer.
 */
import { agent, ask, serve } from 'dragoman'
import { openAiEndpoint } from 'dragoman/openai'
import OpenAI from 'openai'

const tailor = agent('Tailor', async function* ({ text, number }) {
  if (number === 1) yield ask('Which colour?')
  yield `A ${text} suit`
})

const server = await serve(tailor, { port: Number(process.env.PORT ?? 8001), endpoints: [openAiEndpoint()] })
const ai = new OpenAI({ baseURL: new URL('/v1', server.url).href, apiKey: 'none' })

const question = await ai.responses.create({ model: 'Tailor', input: 'I need a suit' })
console.log(question.output_text)
const answer = await ai.responses.create({ model: 'Tailor', input: 'blue', previous_response_id: question.id })
console.log(answer.output_text)

await server.close()
