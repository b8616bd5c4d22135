/** LangGraph itself: graphs as agents, agents as nodes and tools. */
import { AIMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { FakeListChatModel } from '@langchain/core/utils/testing'
import {
  Annotation,
  Command,
  END,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { agent, ask, bearer, connect, data, MemoryStore, serve, steps, usage } from 'dragoman'
import { bearerCredential } from 'dragoman/client'
import { asNode, asTools, fromLangGraph } from 'dragoman/langgraph'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

/** A graph whose node answers with all messages of its thread. */
function recorder() {
  return new StateGraph(MessagesAnnotation)
    .addNode('list', ({ messages }) => ({
      messages: [new AIMessage(messages.map(({ content }) => String(content)).join('; '))],
    }))
    .addEdge(START, 'list')
    .addEdge('list', END)
    .compile({ checkpointer: new MemorySaver() })
}

/** A graph that asks with `interrupt` and answers with what it got. */
function asking(checkpointer = new MemorySaver()) {
  return new StateGraph(MessagesAnnotation)
    .addNode('ask', () => {
      const size = interrupt<string, unknown>('Which size?')
      return { messages: [new AIMessage(`Size ${JSON.stringify(size)}`)] }
    })
    .addEdge(START, 'ask')
    .addEdge('ask', END)
    .compile({ checkpointer })
}

describe('fromLangGraph', () => {
  it('streams the text of a chat model, one artifact for each message', async () => {
    const model = new FakeListChatModel({ responses: ['Hello there'] })
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('talk', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
      .addNode('end', () => ({ messages: [new AIMessage('Goodbye')] }))
      .addEdge(START, 'talk')
      .addEdge('talk', 'end')
      .addEdge('end', END)
      .compile()
    await using client = await connect(fromLangGraph(graph, 'Talker'))
    const chunks: string[] = []
    for await (const update of client.stream('Hi'))
      if ('artifactUpdate' in update)
        for (const part of update.artifactUpdate.artifact.parts) if ('text' in part) chunks.push(part.text)
    expect(chunks).toEqual([...'Hello there', 'Goodbye'])
    expect((await client.ask('Hi')).artifacts).toHaveLength(2)
  })

  it('remembers the conversation, and keeps callers with the same contextId apart', async () => {
    await using served = await serve(fromLangGraph(recorder(), 'Recorder'), {
      port: 0,
      store: new MemoryStore(),
      auth: [bearer({ 'token-of-ann-0123456789': 'ann', 'token-of-bob-0123456789': 'bob' })],
    })
    const connectAs = (token: string) => connect(served.url, { credentials: { bearer: bearerCredential(token) } })
    await using ann = await connectAs('token-of-ann-0123456789')
    await using bob = await connectAs('token-of-bob-0123456789')
    const contextId = 'shared-context'
    expect((await ann.ask('My secret', { contextId })).text).toBe('My secret')
    expect((await ann.ask('And more', { contextId })).text).toBe('My secret; My secret; And more')
    expect((await bob.ask('What was it?', { contextId })).text).toBe('What was it?')
  })

  it('asks for an interrupt and resumes with the answer', async () => {
    await using client = await connect(fromLangGraph(asking(), 'Tailor'))
    const conversation = client.conversation()
    expect(await conversation.ask('A suit')).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED', text: 'Which size?' })
    expect(await conversation.ask('48')).toMatchObject({ state: 'TASK_STATE_COMPLETED', text: 'Size "48"' })
  })

  it('publishes the schema of an interrupt as a form', async () => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('ask', () => {
        const schema = z.object({ size: z.number() })
        const { size } = interrupt({ question: 'Which size?', from: 40 }, { responseSchema: schema })
        return { messages: [new AIMessage(`Size ${size + 1}`)] }
      })
      .addEdge(START, 'ask')
      .compile({ checkpointer: new MemorySaver() })
    await using client = await connect(fromLangGraph(graph, 'Tailor'))
    const conversation = client.conversation()
    const { task, text } = await conversation.ask('A suit')
    expect(text).toBe('Which size?')
    expect(task?.status.message?.parts).toMatchObject([
      { text: 'Which size?' },
      { data: { question: 'Which size?', from: 40 } },
      { data: { properties: { size: { type: 'number' } } }, mediaType: 'application/schema+json' },
    ])
    await expect(conversation.ask([data({ size: 'large' })])).rejects.toMatchObject({ code: 'INVALID_PARAMS' })
    expect((await conversation.ask([data({ size: 47 })])).text).toBe('Size 48')
  })

  it('asks several interrupts in one form, also those of subgraphs', async () => {
    const inner = new StateGraph(MessagesAnnotation)
      .addNode('colour', () => ({ messages: [new AIMessage(`In ${interrupt('Which colour?')}`)] }))
      .addEdge(START, 'colour')
      .compile()
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('size', () => ({ messages: [new AIMessage(`Size ${interrupt('Which size?')}`)] }))
      .addNode('inner', inner)
      .addEdge(START, 'size')
      .addEdge(START, 'inner')
      .compile({ checkpointer: new MemorySaver() })
    await using client = await connect(fromLangGraph(graph, 'Tailor'))
    const conversation = client.conversation()
    const { text, task } = await conversation.ask('A suit')
    expect(text).toBe('Which size?\nWhich colour?')
    expect(task?.status.message?.parts.at(-1)).toMatchObject({
      data: { properties: { answer_1: { title: 'Which size?' }, answer_2: { title: 'Which colour?' } } },
    })
    const done = await conversation.ask([data({ answer_1: '48', answer_2: 'blue' })])
    expect(done).toMatchObject({ state: 'TASK_STATE_COMPLETED', text: 'Size 48\nIn blue' })
  })

  it('answers consecutive questions of one node in order', async () => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('ask', () => ({ messages: [new AIMessage(`${interrupt('First?')} ${interrupt('Second?')}`)] }))
      .addEdge(START, 'ask')
      .compile({ checkpointer: new MemorySaver() })
    await using client = await connect(fromLangGraph(graph, 'Tailor'))
    const conversation = client.conversation()
    expect((await conversation.ask('Go')).text).toBe('First?')
    expect((await conversation.ask('one')).text).toBe('Second?')
    expect((await conversation.ask('two')).text).toBe('one two')
  })

  it('fails with a clear text if the checkpointer forgot the question', async () => {
    let graph = asking()
    const forgetful = {
      checkpointer: true,
      stream: (input: unknown, options: object) => graph.stream(input as never, options),
      getState: (config: object) => graph.getState(config),
    }
    await using client = await connect(fromLangGraph(forgetful, 'Tailor'))
    const conversation = client.conversation()
    await conversation.ask('A suit')
    graph = asking() // as after a restart with `MemorySaver`
    const answer = await conversation.ask('48')
    expect(answer.state).toBe('TASK_STATE_FAILED')
    expect(answer.text).toMatch(/no longer open in the memory of the graph/)
  })

  it('rejects a task while another one of the conversation waits for an answer, and not after its cancellation', async () => {
    await using served = await serve(fromLangGraph(asking(), 'Tailor'), { port: 0, store: new MemoryStore() })
    await using client = await connect(served.url)
    const first = await client.ask('A suit', { contextId: 'c' })
    const second = await client.ask('A coat', { contextId: 'c' })
    expect(second).toMatchObject({ state: 'TASK_STATE_REJECTED', text: expect.stringContaining(first.task?.id ?? '') })
    await client.task(first.task?.id ?? '').cancel()
    expect(await client.ask('A coat', { contextId: 'c' })).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED' })
  })

  it('runs the tasks of one context one after the other', async () => {
    let running = 0
    let most = 0
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('work', async () => {
        running += 1
        most = Math.max(most, running)
        await new Promise((resolve) => setImmediate(resolve))
        running -= 1
        return { messages: [new AIMessage('Done')] }
      })
      .addEdge(START, 'work')
      .compile({ checkpointer: new MemorySaver() })
    await using client = await connect(fromLangGraph(graph, 'Worker'))
    const answers = await Promise.all(['a', 'b', 'c'].map((each) => client.ask(each, { contextId: 'c' })))
    expect(answers.map(({ text }) => text)).toEqual(['Done', 'Done', 'Done'])
    expect(most).toBe(1)
  })

  it('reports tool calls and usage to callers that ask for them', async () => {
    const pay = tool(async ({ amount }) => `Paid ${amount}`, {
      name: 'pay',
      description: 'Pays',
      schema: z.object({ amount: z.number() }),
    })
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('model', ({ messages }) => ({
        messages: [
          messages.length > 1
            ? new AIMessage('Paid')
            : Object.assign(
                new AIMessage({ content: '', tool_calls: [{ id: 'call-1', name: 'pay', args: { amount: 3 } }] }),
                { usage_metadata: { input_tokens: 5, output_tokens: 2, total_tokens: 7 } },
              ),
        ],
      }))
      .addNode('tools', new ToolNode([pay]))
      .addEdge(START, 'model')
      .addConditionalEdges('model', ({ messages }) => (messages.length > 2 ? END : 'tools'))
      .addEdge('tools', 'model')
      .compile()
    await using client = await connect(fromLangGraph(graph, 'Payer'), { extensions: [steps, usage] })
    const seen: unknown[] = []
    for await (const update of client.stream('Pay 3'))
      if ('statusUpdate' in update) seen.push(steps.read(update.statusUpdate.status.message))
    expect(seen).toContainEqual({ kind: 'tool-call', id: 'call-1', name: 'pay', input: { amount: 3 } })
    expect(seen).toContainEqual({ kind: 'tool-result', id: 'call-1', name: 'pay', output: 'Paid 3' })
    const { task } = await client.ask('Pay 3')
    expect(usage.read(task)).toMatchObject({ inputTokens: 5, outputTokens: 2, totalTokens: 7 })
  })

  it('takes own input and returns chosen keys of the state', async () => {
    const State = Annotation.Root({ request: Annotation<string>(), suit: Annotation<{ size: number }>() })
    const graph = new StateGraph(State)
      .addNode('sew', ({ request }) => ({ suit: { size: Number(request) } }))
      .addEdge(START, 'sew')
      .compile()
    const tailor = fromLangGraph(graph, 'Tailor', {
      input: ({ text: request }) => ({ request }),
      results: ['suit', 'request'],
    })
    await using client = await connect(tailor)
    const { artifacts } = await client.ask('48')
    expect(artifacts.map(({ name, parts }) => [name, parts])).toMatchObject([
      ['suit', [{ data: { size: 48 } }]],
      ['request', [{ text: '48' }]],
    ])
  })
})

describe('asNode', () => {
  /** Counts its turns and asks once. */
  function tailorAgent() {
    const turns: string[] = []
    const tailor = agent('Tailor', async function* ({ text, number }) {
      turns.push(text)
      if (number === 1) yield ask('Which size?')
      yield `A suit in ${text}`
    })
    return { tailor, turns }
  }

  it('interrupts the graph for a question, and sends each message once', async () => {
    const { tailor, turns } = tailorAgent()
    await using client = await connect(tailor)
    const State = Annotation.Root({ request: Annotation<string>(), suit: Annotation<string>() })
    const graph = new StateGraph(State)
      .addNode('tailor', asNode(client, { input: (s) => s.request, output: (r) => ({ suit: r.text }) }))
      .addEdge(START, 'tailor')
      .compile({ checkpointer: new MemorySaver() })
    const config = { configurable: { thread_id: 't' } }
    await graph.invoke({ request: 'A suit' }, config)
    const [task] = (await graph.getState(config)).tasks
    expect(task?.interrupts[0]?.value).toMatchObject({ agent: 'Tailor', question: 'Which size?' })
    const { suit } = await graph.invoke(new Command({ resume: '48' }), config)
    expect(suit).toBe('A suit in 48')
    expect(turns).toEqual(['A suit', '48'])
  })

  it('relays a question through a graph that is an agent itself', async () => {
    const { tailor, turns } = tailorAgent()
    await using client = await connect(tailor)
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('tailor', asNode(client))
      .addEdge(START, 'tailor')
      .compile({ checkpointer: new MemorySaver() })
    await using planner = await connect(fromLangGraph(graph, 'Planner'))
    const conversation = planner.conversation()
    expect((await conversation.ask('A suit')).text).toBe('Which size?')
    expect((await conversation.ask('48')).text).toBe('A suit in 48')
    expect(turns).toEqual(['A suit', '48'])
  })
})

describe('asTools', () => {
  it('returns LangChain tools that call the agent', async () => {
    const tailor = agent(
      { name: 'Tailor', skills: [{ id: 'sew', input: z.object({ size: z.number() }) }, { id: 'talk' }] },
      async function* (turn) {
        if (turn.number === 1 && turn.text === 'A suit') yield ask('Which size?')
        const given = turn.data()
        yield given === undefined ? `A suit in ${turn.text}` : `Sewn in ${JSON.stringify(given)}`
      },
    )
    await using client = await connect(tailor)
    const [sew, talk] = await asTools(client)
    expect(await sew?.invoke({ size: 48 })).toBe('Sewn in {"size":48}')
    const question = JSON.parse(String(await talk?.invoke({ message: 'A suit' })))
    expect(question).toMatchObject({ state: 'input-required', question: 'Which size?' })
    expect(await talk?.invoke({ message: '48', taskId: question.taskId })).toBe('A suit in 48')
    const call = { id: 'c', name: 'Tailor_sew', args: { size: 50 } }
    const { messages } = await new ToolNode([...(await asTools(client))]).invoke({
      messages: [new AIMessage({ content: '', tool_calls: [call] })],
    })
    expect(messages[0]?.content).toBe('Sewn in {"size":50}')
  })
})
