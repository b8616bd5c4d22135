/** An agent of the AI SDK with a tool that needs approval. Its model decides by the prompt, so that any process can go on. */
import * as ai7 from 'ai'
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test'
import * as ai6 from 'ai-v6'
import * as test6 from 'ai-v6/test'
import type { AiSdkAgent } from 'dragoman/ai-sdk'
import { z } from 'zod'

export type Ai = typeof ai7
export const majors: readonly (readonly [string, Ai])[] = [
  ['6', ai6 as unknown as Ai],
  ['7', ai7],
]

type Prompt = Parameters<MockLanguageModelV3['doStream']>[0]['prompt']
type Part = Awaited<ReturnType<MockLanguageModelV3['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never

const usage = {
  inputTokens: { total: 10, noCache: 8, cacheRead: 2, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
}

/** The stream of a model that says a text. */
export function says(text: string): Part[] {
  const deltas = text.match(/\S+\s*/g) ?? []
  return [
    { type: 'text-start', id: 't' },
    ...deltas.map((delta): Part => ({ type: 'text-delta', id: 't', delta })),
    { type: 'text-end', id: 't' },
    { type: 'finish', finishReason: { unified: 'stop', raw: undefined }, usage },
  ]
}

/** The stream of a model that calls a tool. */
export function calls(toolCallId: string, toolName: string, input: object): Part[] {
  return [
    { type: 'reasoning-start', id: 'r' },
    { type: 'reasoning-delta', id: 'r', delta: `I call ${toolName}.` },
    { type: 'reasoning-end', id: 'r' },
    { type: 'tool-call', toolCallId, toolName, input: JSON.stringify(input) },
    { type: 'finish', finishReason: { unified: 'tool-calls', raw: undefined }, usage },
  ]
}

/** A model whose answers a function decides. */
export function modelOf(major: string, answer: (prompt: Prompt) => Part[]): MockLanguageModelV3 {
  const Mock =
    major === '6' ? (test6.MockLanguageModelV3 as unknown as typeof MockLanguageModelV3) : MockLanguageModelV3
  return new Mock({
    modelId: 'mock',
    doStream: async ({ prompt }) => ({ stream: simulateReadableStream({ chunks: answer(prompt) }) }),
  })
}

/** The words of the user in a prompt. */
export function wordsOf(prompt: Prompt): string[] {
  return prompt.flatMap(({ role, content }) =>
    role === 'user' ? [content.map((part) => (part.type === 'text' ? part.text : part.type)).join(' ')] : [],
  )
}

/** Results of tools in a prompt, as `id: output`. */
export function resultsOf(prompt: Prompt): string[] {
  return prompt.flatMap(({ role, content }) =>
    role === 'tool'
      ? content.flatMap((part) =>
          part.type === 'tool-result' ? [`${part.toolCallId}: ${JSON.stringify(part.output)}`] : [],
        )
      : [],
  )
}

/** Pays once for `pay`, twice for `pay twice`: each payment needs an approval. */
export function payerOf(major: string, ai: Ai, onPay: (amount: number) => void): AiSdkAgent {
  const model = modelOf(major, (prompt) => {
    const last = prompt.at(-1)
    const count = wordsOf(prompt).at(-1)?.includes('twice') ? 2 : 1
    const done = resultsOf(prompt.slice(prompt.findLastIndex(({ role }) => role === 'user')))
    if (last?.role === 'user' || done.length < count) return calls(`call-${done.length + 1}`, 'pay', { amount: 5 })
    return says(`Done: ${done.join(', ')}`)
  })
  const pay = ai.tool({
    description: 'Pays',
    inputSchema: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }) => {
      onPay(amount)
      return { paid: amount }
    },
  })
  return new ai.ToolLoopAgent({ model, tools: { pay } })
}
