import type { SendOptions } from '../load/send-messages.ts'
import { type Measurement, runTimed } from '../measurement.ts'

/** The figures of `sendColumns` for one run of blocking sends. */
export async function measureSends(measurement: Measurement, options: Omit<SendOptions, 'origin'>) {
  const { requests, seconds, serverBusy, generatorBusy } = await runTimed(measurement, 'sendMessages', options)
  return { requestsPerSecond: requests / seconds, serverBusy, generatorBusy }
}
