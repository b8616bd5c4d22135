/** Bounds the open connections of one port, in all and from one address. */
import type { Server, Socket } from 'node:net'
import type { Log } from '../model/log.js'
import { addressKey, classifyAddress } from '../net/addresses.js'

export interface ConnectionLimits {
  /** Connections open at once. Further ones are closed at once. Default 10,000. */
  readonly max?: number
  /**
   * Connections from one address (IPv6: one /64 network). Default: 1,000 from a public address; loopback and private
   * addresses, which proxies have, count toward `max` only. A value given here holds for every address.
   */
  readonly maxPerAddress?: number
}

const defaultMax = 10_000
const defaultMaxPerPublicAddress = 1_000
/** A flood of connections must not become a flood of log lines. */
const logEveryMs = 10_000

export function limitConnections(server: Server, limits: ConnectionLimits = {}, log?: Log): void {
  const { max = defaultMax } = limits
  for (const [name, value] of Object.entries({ max, maxPerAddress: limits.maxPerAddress ?? 1 }))
    if (!(value >= 1)) throw new TypeError(`connections.${name} must be a number from 1 on`)
  const perAddress = new AddressCount(limits.maxPerAddress)
  const refused = refusals(log)
  server.maxConnections = max
  server.on('drop', () => refused(`${max} are open (connections.max)`))
  // Before the listeners that would begin a TLS handshake or read the first bytes.
  server.prependListener('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket
    if (perAddress.add(remoteAddress)) socket.once('close', () => perAddress.remove(remoteAddress))
    else {
      socket.destroy()
      refused(`too many are open from ${remoteAddress} (connections.maxPerAddress)`)
    }
  })
}

export class AddressCount {
  readonly #max: number | undefined
  readonly #counts = new Map<string, number>()

  constructor(max: number | undefined) {
    this.#max = max
  }

  /** Counts a connection; false, and not counted, when the address has its share. */
  add(address: string): boolean {
    const key = addressKey(address)
    const count = this.#counts.get(key) ?? 0
    if (count >= (this.#max ?? defaultMaxFor(address, count))) return false
    this.#counts.set(key, count + 1)
    return true
  }

  remove(address: string): void {
    const key = addressKey(address)
    const left = (this.#counts.get(key) ?? 0) - 1
    if (left > 0) this.#counts.set(key, left)
    else this.#counts.delete(key)
  }
}

function defaultMaxFor(address: string, count: number): number {
  // Classifying parses the address: not worth it below the limit.
  const isBounded = count >= defaultMaxPerPublicAddress && classifyAddress(address) === 'public'
  return isBounded ? defaultMaxPerPublicAddress : Number.POSITIVE_INFINITY
}

function refusals(log: Log | undefined): (why: string) => void {
  let count = 0
  let loggedMs = Number.NEGATIVE_INFINITY
  return (why) => {
    count += 1
    const now = performance.now()
    if (now - loggedMs < logEveryMs) return
    log?.({ level: 'warn', message: `Connections were refused, ${count} since the last entry: ${why}` })
    loggedMs = now
    count = 0
  }
}
