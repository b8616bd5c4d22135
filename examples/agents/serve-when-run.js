// `node examples/agents/outline.js` serves that agent alone: on its usual port, in every dialect.
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { apiKey, serve } from 'dragoman'
import { connectAgents, apiKey as showKey } from 'dragoman/client'
import { registryResolver } from 'dragoman/registry'

/** @import { Agent, ServeOptions } from 'dragoman' */
/** @import { RegisterOptions, Route } from 'dragoman/server' */

/** What an agent's own file says about how it is served.
 * @typedef {object} Usual
 * @property {number} port
 * @property {readonly Route[]} [routes] what its port carries beside it
 * @property {RegisterOptions['address']} [address] the address that older readers find in a registry
 */

const usage = `Options:
  --port N           instead of the usual one; 0 is any that is free
  --host ADDRESS     default 127.0.0.1; another one needs a key
  --store STORE      memory (default), sqlite:PATH or postgres://…
  --api-key KEY      callers must show it; default: DRAGOMAN_API_KEY
  --registry URL     where to be found, and where to find the agents that this one asks
  --peer NAME=URL    where one of them is, without a registry; may be repeated`

/** What the command line and the environment say, as options for `serve`.
 * @param {Usual} usual
 * @param {string[]} [args]
 * @returns {ServeOptions}
 */
export function serveOptions(usual, args = process.argv.slice(2)) {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: 'string' },
      host: { type: 'string' },
      store: { type: 'string' },
      'api-key': { type: 'string', default: process.env.DRAGOMAN_API_KEY },
      registry: { type: 'string', default: process.env.DRAGOMAN_REGISTRY },
      peer: { type: 'string', multiple: true, default: [] },
    },
  })
  const { 'api-key': key, registry } = values
  const peers = Object.fromEntries(values.peer.map(nameAndAddress))
  return {
    port: values.port === undefined ? usual.port : Number(values.port),
    ...(usual.routes && { routes: usual.routes }),
    ...(values.host && { host: values.host }),
    ...(values.store && { store: values.store }),
    ...(key && { auth: [apiKey(key)] }),
    dialects: 'all',
    ...(registry && { register: registerAt(registry, key, usual.address) }),
    resolve: connectAgents(peers, registry ? knownTo(registry, key) : shows(key)),
  }
}

/** How to be found.
 * @param {string} url of the registry
 * @param {string | undefined} key
 * @param {Usual['address']} address
 * @returns {RegisterOptions}
 */
export function registerAt(url, key, address) {
  return { url, ...headersWith(key), ...(address && { address }) }
}

/** How to find others: who is asked where they are, and what they are shown.
 * @param {string} registry
 * @param {string | undefined} key
 */
export function knownTo(registry, key) {
  return { ...shows(key), resolvers: [registryResolver(registry, headersWith(key))] }
}

/** @param {string | undefined} key */
function shows(key) {
  return key ? { credentials: showKey(key) } : {}
}

/** For registries.
 * @param {string | undefined} key
 */
export function headersWith(key) {
  return key ? { headers: { 'x-api-key': key } } : {}
}

/** @param {string} peer @returns {[string, string]} */
function nameAndAddress(peer) {
  const [, name, url] = /^([^=]+)=(.+)$/.exec(peer) ?? []
  if (!name || !url) throw new TypeError(`--peer is written NAME=URL, not ${peer}`)
  return [name, url]
}

/** Does nothing when the module is imported.
 * @param {ImportMeta} meta
 * @param {Agent} agent
 * @param {Usual} usual
 */
export async function serveWhenRun(meta, agent, usual) {
  if (!process.argv[1] || realpathSync(process.argv[1]) !== fileURLToPath(meta.url)) return
  try {
    const served = await serve(agent, serveOptions(usual))
    console.log(`${agent.card.name} is ready at ${served.url}`)
    for (const signal of ['SIGINT', 'SIGTERM'])
      process.once(signal, () => served.close().finally(() => process.exit(0)))
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exitCode = 2
  }
}
