/**
 * An agent of the OpenAI Agents SDK, served over A2A. It pays only after an approval, and the question survives restarts.
 * Run it: `npx tsx openai-agents.ts`, or `node openai-agents.ts` with Node 22.18 or newer.
 */
import { appendFileSync } from 'node:fs'
import { Agent, type Model, tool } from '@openai/agents-core' // or from '@openai/agents', with OpenAI's models
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents-core/testing'
import { serve } from 'dragoman'
import { fromOpenAiAgent } from 'dragoman/openai-agents'
import { z } from 'zod'

const pay = tool({
  name: 'pay',
  description: 'Pays an amount',
  parameters: z.object({ amount: z.number() }),
  needsApproval: true,
  execute({ amount }) {
    appendFileSync('payments.txt', `${amount}\n`)
    return `Paid ${amount}`
  },
})

/** Takes the place of a language model, so that the example needs no key. Leave `model` out to use a model of OpenAI. */
const scripted = ({ input }: { input: unknown }) => {
  const isPaid = JSON.stringify(input).includes('function_call_result')
  const call = functionCall('pay', { amount: 3 }, { callId: crypto.randomUUID() })
  return new ScriptedModel([[isPaid ? assistantMessage('It is paid.') : call]])
}
const model: Model = {
  getResponse: (request) => scripted(request).getResponse(request),
  getStreamedResponse: (request) => scripted(request).getStreamedResponse(request),
}

const payer = fromOpenAiAgent(new Agent({ name: 'Payer', model, tools: [pay] }), { name: 'Payer' })
const { url } = await serve(payer, { port: Number(process.env.PORT ?? 8001), store: 'sqlite:tasks.sqlite' })
console.log(`Payer is ready at ${url}`)
