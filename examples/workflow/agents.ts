// Three agents that take bookings, each at a separate address.
import { agent, artifact, ask, data, serve } from 'dragoman'

const bookingAgent = (name: string, what: string) =>
  agent(name, async function* ({ text, message, task }) {
    const on = message.referenceTaskIds ?? []
    yield artifact(what, data({ booked: text, number: task.id.slice(-6), on: on.length }))
  })

const hotels = agent('HotelAgent', async function* ({ number, text }) {
  if (number === 1 && text.startsWith('Book')) yield ask('A single or a double room?')
  yield artifact('hotel', data({ booked: text }))
})

export async function serveAgents() {
  const served = await Promise.all(
    [bookingAgent('FlightAgent', 'flight'), hotels, bookingAgent('TourAgent', 'tour')].map((each) => serve(each)),
  )
  const [flight = '', hotel = '', tour = ''] = served.map(({ url }) => url)
  return {
    addresses: { FlightAgent: flight, HotelAgent: hotel, TourAgent: tour },
    close: () => Promise.all(served.map((each) => each.close({ deadlineMs: 0 }))),
  }
}
