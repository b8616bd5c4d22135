// `node examples/agents/outline.js` serves that agent alone: on its usual port, in every dialect.
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { apiKey, bearer, serve } from 'dragoman'
import { connectAgents, apiKey as showKey, bearer as showToken } from 'dragoman/client'
import { registryResolver } from 'dragoman/registry'

/** @import { Agent, ServeOptions } from 'dragoman' */
/** @import { RegisterOptions, Route } from 'dragoman/server' */

/** What an agent's own file says about how it is served.
 * @typedef {object} Usual
 * @property {number} port
 * @property {readonly Route[]} [routes] what its port carries beside it
 * @property {ServeOptions['card']} [card] the card for readers that name no version
 */

/** Secrets that callers may show; either one is enough.
 * @typedef {object} Secrets
 * @property {string | undefined} [key] in the header `X-API-Key`
 * @property {string | undefined} [token] in the header `Authorization: Bearer`
 */

const usage = `Options:
  --port N           instead of the usual one; 0 is any that is free
  --host ADDRESS     default 127.0.0.1; another one needs a key
  --store STORE      memory (default), file:DIR, sqlite:PATH or postgres://…
  --api-key KEY      callers must show it; default: DRAGOMAN_API_KEY
  --bearer TOKEN     or this token, as Authorization: Bearer; default: DRAGOMAN_BEARER
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
      bearer: { type: 'string', default: process.env.DRAGOMAN_BEARER },
      registry: { type: 'string', default: process.env.DRAGOMAN_REGISTRY },
      peer: { type: 'string', multiple: true, default: [] },
    },
  })
  const { registry } = values
  const secrets = { key: values['api-key'], token: values.bearer }
  const peers = Object.fromEntries(values.peer.map(nameAndAddress))
  return {
    port: values.port === undefined ? usual.port : Number(values.port),
    ...(usual.routes && { routes: usual.routes }),
    ...(usual.card && { card: usual.card }),
    ...(values.host && { host: values.host }),
    ...(values.store && { store: values.store }),
    ...authWith(secrets),
    dialects: 'all',
    ...(registry && { register: registerAt(registry, secrets) }),
    resolve: connectAgents(peers, registry ? knownTo(registry, secrets) : shows(secrets)),
  }
}

/** Options for `serve` that let callers in who show one of the secrets.
 * @param {Secrets} secrets
 * @returns {{ auth?: ReturnType<typeof apiKey>[] }}
 */
export function authWith({ key, token }) {
  const auth = [...(key ? [apiKey(key)] : []), ...(token ? [bearer(token)] : [])]
  return auth.length > 0 ? { auth } : {}
}

/** How to be found.
 * @param {string} url of the registry
 * @param {Secrets} secrets
 * @returns {RegisterOptions}
 */
export function registerAt(url, secrets) {
  return { url, ...headersWith(secrets) }
}

/** Finds others in the registry. Agents that it knows get the key over https, and on this machine over http too.
 * @param {string} registry
 * @param {Secrets} secrets
 */
export function knownTo(registry, secrets) {
  return {
    ...shows(secrets),
    ...((secrets.key || secrets.token) && { allowedOrigins: ['*'] }),
    resolvers: [registryResolver(registry, headersWith(secrets))],
  }
}

/** Options for `connect` that show a secret.
 * @param {Secrets} secrets
 */
export function shows({ key, token }) {
  if (key) return { credentials: showKey(key) }
  return token ? { credentials: showToken(token) } : {}
}

/** For registries.
 * @param {Secrets} secrets
 * @returns {{ headers?: Record<string, string> }}
 */
export function headersWith({ key, token }) {
  if (key) return { headers: { 'x-api-key': key } }
  return token ? { headers: { authorization: `Bearer ${token}` } } : {}
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
    for (const signal of ['SIGINT', 'SIGTERM'])
      process.once(signal, () => served.close().finally(() => process.exit(0)))
    console.log(`${agent.card.name} is ready at ${served.url}`)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exitCode = 2
  }
}
