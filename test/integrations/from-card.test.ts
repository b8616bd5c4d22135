/** The card of agents that the integrations make of other things. */
import { type Agent, type AgentInit, approvals, steps, usage } from 'dragoman'
import { fromAiSdk } from 'dragoman/ai-sdk'
import { fromLangGraph } from 'dragoman/langgraph'
import { fromMcp } from 'dragoman/mcp'
import { fromOpenAiAgent } from 'dragoman/openai-agents'
import { describe, expect, it } from 'vitest'

type Make = (card: string | AgentInit) => Agent | Promise<Agent>

const mcpClient = { listTools: async () => ({ tools: [] }), callTool: async () => ({}) }
const withSteps: readonly [string, Make][] = [
  ['fromAiSdk', (card) => fromAiSdk(() => ({}) as never, card)],
  ['fromLangGraph', (card) => fromLangGraph({ stream: () => ({}) } as never, card)],
  ['fromOpenAiAgent', (card) => fromOpenAiAgent({ name: 'Inner' } as never, card)],
]
const all: readonly [string, Make][] = [...withSteps, ['fromMcp', (card) => fromMcp(mcpClient, card)]]

describe.each(all)('%s', (name, make) => {
  it.each([undefined, null, {}, { name: ' ' }, ''])('names the fix for the card %o', async (card) => {
    await expect((async () => make(card as never))()).rejects.toThrow(`\`${name}\` needs a name for the agent`)
  })

  it('takes a name or a card', async () => {
    expect((await make('Payer')).card.name).toBe('Payer')
    expect((await make({ name: 'Payer', version: '2.0.0' })).card).toMatchObject({ name: 'Payer', version: '2.0.0' })
  })
})

it.each(withSteps)('%s declares each extension once', async (_name, make) => {
  const own = { uri: 'urn:example:own' }
  const { card } = await make({ name: 'Payer', extensions: [usage, own] })
  expect(card.extensions?.map(({ uri }) => uri)).toEqual([usage.uri, own.uri, steps.uri, approvals.uri])
})

it('fromMcp names the fix if it gets no client', async () => {
  await expect(fromMcp(undefined as never, 'Files')).rejects.toThrow('needs a connected MCP client')
})
