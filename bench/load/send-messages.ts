import { type Driver, driverOf } from './driver.ts'
import { assertEchoed, nextGreeting } from './messages.ts'
import { after, keepBusy, type Timing, withMany } from './workers.ts'

export interface SendOptions {
  readonly origin: string
  /** Default `v1`. */
  readonly dialect?: string
  readonly isKeptAlive?: boolean
  readonly connections: number
  readonly warmUpMs?: number
  /** Length of the measured part. Ignored when `count` is set. */
  readonly durationMs?: number
  readonly count?: number
  readonly timeoutMs?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Whether answers must repeat the text. Default true; false for servers that answer without reading it. */
  readonly isEchoExpected?: boolean
}

/** Blocking sends of small messages, for a time (`durationMs`) or for a number of tasks (`count`). */
export async function sendMessages(options: SendOptions): Promise<Timing & { requests: number }> {
  const { origin, dialect = 'v1', isKeptAlive, connections, warmUpMs = 0, headers } = options
  const { durationMs = 0, count, timeoutMs, isEchoExpected = true } = options
  const sendOne = isEchoExpected ? sendAndCheck : sendUnchecked
  const openDriver = await driverOf(dialect)
  const open = () => openDriver(origin, { isKeptAlive, headers })
  return withMany(connections, { open, timeoutMs }, async (drivers) => {
    if (warmUpMs > 0) await keepBusy(drivers, { turn: sendOne, isOver: after(warmUpMs) })
    let requests = 0
    const isOver = count === undefined ? after(durationMs) : () => requests >= count
    const turn = (driver: Driver) => {
      requests += 1
      return sendOne(driver)
    }
    const timing = await keepBusy(drivers, { turn, isOver })
    return { requests, ...timing }
  })
}

async function sendAndCheck(driver: Driver): Promise<void> {
  const text = nextGreeting()
  assertEchoed(await driver.send(text), text)
}

async function sendUnchecked(driver: Driver): Promise<void> {
  const { isCompleted, answer } = await driver.send(nextGreeting())
  if (!isCompleted) throw new Error(`Expected a completed task, got ${JSON.stringify(answer)}`)
}
