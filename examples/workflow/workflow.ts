// A journey: the flight first, then hotel and snowmobile in parallel, and the spa after the hotel.
import { connectAgents } from 'dragoman/client'
import { workflow } from 'dragoman/orchestrator'

/** @param addresses Addresses by agent name. */
export const travel = (addresses: Record<string, string>) =>
  workflow(
    'Travel',
    async (flow) => {
      const flight = await flow.step('flight', { agent: 'FlightAgent', message: flow.text })
      const stay = async () => {
        const hotel = await flow.step('hotel', {
          agent: 'HotelAgent',
          message: ['Book a hotel for this flight', flight],
        })
        return await flow.step('spa', { agent: 'HotelAgent', message: 'Add a spa', after: [hotel] })
      }
      await Promise.all([
        stay(),
        flow.step('snowmobile', { agent: 'TourAgent', message: 'Book a snowmobile', after: [flight] }),
      ])
      return 'Have a good journey'
    },
    { resolve: connectAgents(addresses) },
  )
