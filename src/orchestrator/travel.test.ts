/** Concurrent follow-ups in one context that refer to each other. */
import { expect, it } from 'vitest'
import { agent } from '../engine/agent.js'
import { storeKinds, taskIn } from '../engine/engine.fixture.js'
import { artifact } from '../engine/yields.js'
import type { Message } from '../model/message.js'
import { data } from '../model/part.js'
import { callBy, gate, send } from '../testing/index.js'
import { graphOf } from './graph.js'
import { graphLines, openWorkflow } from './workflow.fixture.js'
import { workflow } from './workflow.js'

it.each(storeKinds)(
  'books a journey: hotel and snowmobile refer to the flight, the spa to the hotel (%s)',
  async (kind) => {
    const received = new Map<string, Message>()
    const [spaBooked, tourBegun] = [gate(), gate()]
    const booker = (name: string, meanwhile: () => Promise<void> = async () => undefined) =>
      agent(name, async function* ({ text, message }) {
        received.set(text, message)
        await meanwhile()
        if (text === 'Add a spa') spaBooked.open()
        yield artifact('booking', data({ booked: text }))
      })
    const travel = workflow('Travel', async (flow) => {
      const flight = await flow.step('flight', { agent: 'Flights', message: flow.text })
      const stay = async () => {
        const hotel = await flow.step('hotel', { agent: 'Hotels', message: ['Book a hotel', flight] })
        return await flow.step('spa', { agent: 'Hotels', message: 'Add a spa', after: [hotel] })
      }
      await Promise.all([
        stay(),
        flow.step('snowmobile', { agent: 'Tours', message: 'Book a snowmobile', after: [flight] }),
      ])
    })
    const tours = booker('Tours', async () => {
      tourBegun.open()
      // The spa is booked while the tour is still being booked.
      await spaBooked.opened
    })
    const hotels = booker('Hotels', () => tourBegun.opened)
    await using cast = await openWorkflow(travel, [booker('Flights'), hotels, tours], kind)
    const task = taskIn(await cast.workflow.sendMessage(send('Book a flight to Helsinki'), callBy()))
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect([...graphLines(task)].sort()).toEqual([
      'flight completed',
      'hotel completed after flight',
      'snowmobile completed after flight',
      'spa completed after hotel',
    ])
    const taskOf = new Map(graphOf(task)?.nodes.map(({ id, taskId }) => [id, taskId]))
    expect(
      Object.fromEntries(Array.from(received, ([text, { referenceTaskIds }]) => [text, referenceTaskIds])),
    ).toEqual({
      'Book a flight to Helsinki': undefined,
      'Book a hotel': [taskOf.get('flight')],
      'Book a snowmobile': [taskOf.get('flight')],
      'Add a spa': [taskOf.get('hotel')],
    })
    expect(received.get('Book a hotel')?.parts[1]).toEqual(data({ booked: 'Book a flight to Helsinki' }))
    expect(new Set(Array.from(received.values(), ({ contextId }) => contextId))).toEqual(new Set([task.contextId]))
  },
)
