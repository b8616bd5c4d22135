/** An agent of AI SDK 6 or 7 that is killed while it waits for an approval goes on after a restart, and pays once. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { UIMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { eventually } from '../hostile/waiting.js'
import { outline, plainChat } from '../integrations/ai-sdk-chat.js'
import { majors } from '../integrations/ai-sdk-payer.js'
import { temporaryFolder } from './server-process.js'

/** A server with a model that decides by the prompt, and a tool that notes each payment in a file. */
function script(major: string): string {
  const from = (path: string) => JSON.stringify(new URL(`../../${path}`, import.meta.url).href)
  const ai =
    major === '6' ? ['ai-v6', 'dist/index.mjs', 'dist/test/index.mjs'] : ['ai', 'dist/index.js', 'dist/test/index.js']
  return `
    import { appendFileSync } from 'node:fs'
    import { serve } from ${from('dist/index.js')}
    import { chatEndpoint, fromAiSdk } from ${from('dist/integrations/ai-sdk/index.js')}
    import { tool, ToolLoopAgent } from ${from(`node_modules/${ai[0]}/${ai[1]}`)}
    import { MockLanguageModelV3, simulateReadableStream } from ${from(`node_modules/${ai[0]}/${ai[2]}`)}
    import { z } from ${from('node_modules/zod/index.js')}
    const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }
    const finish = (unified) => ({ type: 'finish', finishReason: { unified }, usage: { inputTokens: tokens, outputTokens: { total: 1 } } })
    const model = new MockLanguageModelV3({
      doStream: async ({ prompt }) => {
        const results = prompt.at(-1).role === 'tool' ? JSON.stringify(prompt.at(-1).content) : undefined
        const chunks = results
          ? [{ type: 'text-start', id: 't' }, { type: 'text-delta', id: 't', delta: results.includes('paid') ? 'Paid.' : 'Not paid.' }, { type: 'text-end', id: 't' }, finish('stop')]
          : [{ type: 'tool-call', toolCallId: 'call-1', toolName: 'pay', input: '{"amount":5}' }, finish('tool-calls')]
        return { stream: simulateReadableStream({ chunks }) }
      },
    })
    const pay = tool({
      inputSchema: z.object({ amount: z.number() }),
      needsApproval: true,
      execute: ({ amount }) => (appendFileSync('payments', 'paid\\n'), { paid: amount }),
    })
    const payer = fromAiSdk(new ToolLoopAgent({ model, tools: { pay } }), 'Payer')
    const { url } = await serve(payer, { port: 0, store: 'sqlite:tasks.sqlite', endpoints: [chatEndpoint()] })
    console.log('serving ' + url)
  `
}

interface Server extends AsyncDisposable {
  readonly url: string
  kill(): Promise<void>
}

async function start(folder: string): Promise<Server> {
  const child: ChildProcess = spawn(process.execPath, ['server.mjs'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  try {
    const url = await eventually(20_000, 'the server to be ready', () => {
      if (child.exitCode !== null) throw new Error(output)
      return /serving (\S+)/.exec(output)?.[1]
    })
    return { url, kill, [Symbol.asyncDispose]: kill }
  } catch (error) {
    await kill()
    throw error
  }
}

describe.each(majors)('an agent of AI SDK %s, killed while it waits for an approval', (major, ai) => {
  it.each([
    ['approve', true, ['pay output-available {"paid":5}', 'step-start', 'text: Paid.'], 'paid\n'],
    ['deny', false, ['pay output-denied', 'step-start', 'text: Not paid.'], ''],
  ])('goes on after a restart: %s', async (_answer, approved, ending, payments) => {
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'server.mjs'), script(major))
    await writeFile(join(folder.path, 'payments'), '')
    const pageOf = (url: string, messages: readonly UIMessage[] = []) =>
      plainChat(ai, { id: 'chat', messages, transport: new ai.DefaultChatTransport({ api: `${url}api/chat` }) })

    await using first = await start(folder.path)
    const page = pageOf(first.url)
    await page.chat.sendMessage({ text: 'pay' })
    await page.idle()
    expect(outline(page.messages()[1] as UIMessage)).toEqual(['step-start', 'pay approval-requested'])
    await first.kill()

    await using second = await start(folder.path)
    const reloaded = pageOf(second.url, page.messages())
    await reloaded.chat.resumeStream()
    expect(outline(reloaded.messages()[1] as UIMessage)).toEqual(['step-start', 'pay approval-requested'])
    const { approval } = (reloaded.messages()[1] as UIMessage).parts[1] as { approval: { id: string } }
    await reloaded.chat.addToolApprovalResponse({ id: approval.id, approved })
    expect(await reloaded.idle()).toBe('ready')
    expect(outline(reloaded.messages()[1] as UIMessage).slice(1)).toEqual(ending)
    await second.kill()

    await using third = await start(folder.path)
    const last = pageOf(third.url)
    await last.chat.resumeStream()
    expect(outline(last.messages()[0] as UIMessage).slice(1)).toEqual(ending)
    expect(await readFile(join(folder.path, 'payments'), 'utf8')).toBe(payments)
  })
})
