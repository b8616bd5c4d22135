// Other agents by name, wherever they are: looked up and connected to when they are asked, whatever dialect they speak.
import { operations } from 'dragoman'
import { apiKey, connect } from 'dragoman/client'

/** @import { AgentRef, AgentService } from 'dragoman' */
/** @import { AgentClient, ConnectOptions } from 'dragoman/client' */
/** @typedef {NonNullable<ConnectOptions['resolvers']>} Resolvers */

/** What `serve` takes as `resolve`.
 * @param {Resolvers} resolvers lists and registries, asked in this order
 * @param {{ key?: string, warn?: (message: string, error: unknown) => void }} [options] the key to show to all of
 *   them, and where to say that one could not be asked
 * @returns {(ref: AgentRef) => AgentService}
 */
export function remoteAgents(resolvers, { key, warn } = {}) {
  /** @type {Map<string, AgentService>} */
  const services = new Map()
  const options = { resolvers: [...resolvers, nobody], ...(key && { credentials: apiKey(key) }) }
  return (ref) => {
    const name = typeof ref === 'string' ? ref : ref.card.name
    const service =
      services.get(name) ??
      connectedOnUse(
        () => connect(name, options),
        (error) => warn?.(`${name} could not be asked`, error),
      )
    services.set(name, service)
    return service
  }
}

/** A name that nobody knows is not an address.
 * @param {string} name
 * @returns {Promise<never>}
 */
async function nobody(name) {
  throw new Error(`Nobody knows an agent called ${name}`)
}

/**
 * @param {() => Promise<AgentClient>} open
 * @param {(error: unknown) => void} onFailure
 * @returns {AgentService}
 */
function connectedOnUse(open, onFailure) {
  /** @type {Promise<AgentClient> | undefined} */
  let client
  const opened = () => {
    client ??= open()
    return client
  }
  /** It may have moved: the next call looks it up again.
   * @param {unknown} error
   * @returns {never}
   */
  const forget = (error) => {
    onFailure(error)
    client?.then((each) => each.close()).catch(() => undefined)
    client = undefined
    throw error
  }
  const service = Object.entries(operations).map(([name, { isStreaming }]) => {
    const operation = /** @type {keyof AgentService} */ (name)
    /** @param {never} request @param {never} context */
    const unary = async (request, context) => {
      try {
        return await (await opened())[operation](request, context)
      } catch (error) {
        return forget(error)
      }
    }
    /** @param {never} request @param {never} context */
    const streaming = async function* (request, context) {
      try {
        yield* /** @type {AsyncIterable<unknown>} */ ((await opened())[operation](request, context))
      } catch (error) {
        forget(error)
      }
    }
    return [name, isStreaming ? streaming : unary]
  })
  return Object.fromEntries(service)
}
