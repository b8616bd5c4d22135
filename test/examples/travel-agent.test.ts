import { serve } from 'dragoman'
import { type AgentClient, type Answer, connect } from 'dragoman/client'
import { gate } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'
import { createTravelAgent } from '../../examples/agents/travel.js'

const atOnce = async () => {}

function booker(client: AgentClient, contextId: string) {
  return (wish: string, ...basis: readonly Answer[]) =>
    client.ask(wish, { contextId, referenceTaskIds: basis.map(({ task }) => task?.id ?? '') })
}

const bookingOf = ({ artifacts }: Answer) => {
  const part = artifacts[0]?.parts[1]
  return part && 'data' in part ? part.data : undefined
}

describe('parallel follow-ups', () => {
  it('are tasks of one context with references; the spa does not wait for the snowmobile', async () => {
    const guide = gate()
    const begun = gate()
    const agent = createTravelAgent(async ({ zh }) => {
      if (zh !== '雪地摩托') return
      begun.open()
      await guide.opened
    })
    await using served = await serve(agent)
    const client = await connect(served.url)
    const book = booker(client, 'winter')
    const flight = await book('Book a flight to Helsinki.')
    const snowmobile = book('Based on Task 1, book a snowmobile activity.', flight)
    const hotel = await book('Based on Task 1, book a hotel.', flight)
    await begun.opened
    const spa = await book('Based on Task 2, add a spa reservation to the hotel booking.', hotel)
    // Task 4 completes while task 3 is still running.
    const { tasks } = await client.listTasks({ contextId: 'winter', status: 'TASK_STATE_WORKING' })
    expect(tasks).toHaveLength(1)
    guide.open()
    const rode = await snowmobile
    expect([flight, hotel, rode, spa].map(bookingOf)).toEqual([
      { kind: 'flight', destination: 'Helsinki', confirmation: expect.stringMatching(/^FL-/) },
      { kind: 'hotel', destination: 'Helsinki', confirmation: expect.any(String), basedOn: flight.task?.id },
      { kind: 'snowmobile', destination: 'Helsinki', confirmation: expect.any(String), basedOn: flight.task?.id },
      { kind: 'spa', destination: 'Helsinki', confirmation: expect.any(String), basedOn: hotel.task?.id },
    ])
    expect(new Set([flight, hotel, rode, spa].map(({ task }) => task?.contextId))).toEqual(new Set(['winter']))
  })

  it('do not start from an unfinished task', async () => {
    const guide = gate()
    await using served = await serve(createTravelAgent(() => guide.opened))
    const client = await connect(served.url)
    const configuration = { returnImmediately: true }
    const sent = await client.sendMessage({
      message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'Book a flight to Helsinki' }] },
      configuration,
    })
    const id = 'task' in sent ? sent.task.id : ''
    const hotel = await client.ask('Book a hotel', { referenceTaskIds: [id] })
    expect([hotel.state, hotel.text]).toEqual(['TASK_STATE_REJECTED', expect.stringContaining(id)])
    guide.open()
    await client.task(id).wait()
    expect((await client.ask('Book a hotel', { referenceTaskIds: [id] })).text).toContain('hotel in Helsinki is booked')
  })

  it('find their base task in the context if they reference none', async () => {
    await using served = await serve(createTravelAgent(atOnce))
    const book = booker(await connect(served.url), 'trip')
    await book('订一张去赫尔辛基的机票')
    expect((await book('再订一个酒店')).text).toContain('赫尔辛基的酒店')
  })

  it('ask for missing details', async () => {
    await using served = await serve(createTravelAgent(atOnce))
    const client = await connect(served.url)
    const talk = client.conversation()
    expect((await talk.ask('Good morning')).text).toContain('What shall I book')
    expect(await talk.ask('a hotel')).toMatchObject({ state: 'TASK_STATE_INPUT_REQUIRED', text: 'Where to?' })
    expect((await talk.ask('Tampere')).text).toContain('hotel in Tampere is booked')
    // A task that does not exist cannot be a reference.
    expect(await client.ask('Book a hotel', { referenceTaskIds: ['nope'] })).toMatchObject({ text: 'Where to?' })
  })

  it('can be cancelled during a question', async () => {
    const begun = gate()
    const agent = createTravelAgent(async (_kind, signal) => {
      begun.open()
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
    await using served = await serve(agent)
    const client = await connect(served.url)
    const sent = await client.sendMessage({
      message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'Book a flight to Helsinki' }] },
      configuration: { returnImmediately: true },
    })
    await begun.opened
    const id = 'task' in sent ? sent.task.id : ''
    expect((await client.task(id).cancel()).status.state).toBe('TASK_STATE_CANCELED')
  })
})
