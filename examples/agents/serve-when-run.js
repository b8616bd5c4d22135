// `node examples/agents/outline.js` serves that agent alone: on its usual port, in every dialect.
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { apiKey, serve } from 'dragoman'
import { registryResolver, staticResolver } from 'dragoman/registry'
import { remoteAgents } from './remote-agents.js'

/** @import { Agent, ServeOptions } from 'dragoman' */

const usage = `Options:
  --port N           instead of the usual one; 0 is any that is free
  --host ADDRESS     default 127.0.0.1; another one needs a key
  --store STORE      memory (default) or sqlite:PATH
  --api-key KEY      callers must show it; default: DRAGOMAN_API_KEY
  --registry URL     where to be found, and where to find the agents that this one asks
  --peer NAME=URL    where one of them is, without a registry; may be repeated`

/** What the command line and the environment say, as options for `serve`.
 * @param {number} usualPort
 * @param {string[]} [args]
 * @returns {ServeOptions}
 */
export function serveOptions(usualPort, args = process.argv.slice(2)) {
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
  const resolvers = [staticResolver(Object.fromEntries(values.peer.map(nameAndAddress)))]
  if (registry) resolvers.push(registryResolver(registry))
  return {
    port: values.port === undefined ? usualPort : Number(values.port),
    ...(values.host && { host: values.host }),
    ...(values.store && { store: values.store }),
    ...(key && { auth: [apiKey(key)] }),
    dialects: 'all',
    ...(registry && { register: registry }),
    resolve: remoteAgents(resolvers, { ...(key && { key }), warn: (...said) => console.error('warn', ...said) }),
    log: ({ level, message, error }) => {
      if (level === 'error' || level === 'warn') console.error(level, message, error ?? '')
    },
  }
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
 * @param {{ port: number }} usual
 */
export async function serveWhenRun(meta, agent, { port }) {
  if (!process.argv[1] || realpathSync(process.argv[1]) !== fileURLToPath(meta.url)) return
  try {
    const served = await serve(agent, serveOptions(port))
    console.log(`${agent.card.name} is ready at ${served.url}`)
    for (const signal of ['SIGINT', 'SIGTERM'])
      process.once(signal, () => served.close().finally(() => process.exit(0)))
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exitCode = 2
  }
}
