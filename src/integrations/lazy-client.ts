/** The client of an integration: one that the application has opened, or an address. Runs in browsers too. */
import type { AgentClient } from '../client/agent-client.js'
import { connect } from '../client/connect.js'

/** A connection to an agent, or its address: `localhost:8001`. The address is connected to on first use. */
export type ClientOrAddress = AgentClient | string

/** Returns a function that opens the client. A connection that failed is tried again at the next call. */
export function lazyClient(target: ClientOrAddress): () => Promise<AgentClient> {
  if (typeof target !== 'string') {
    if (typeof target?.sendStreamingMessage === 'function') return () => Promise.resolve(target)
    throw new TypeError('Pass the address of an agent or the result of `connect`, awaited')
  }
  let opening: Promise<AgentClient> | undefined
  return () => {
    opening ??= connect(target).catch((error: unknown) => {
      opening = undefined
      throw error
    })
    return opening
  }
}
