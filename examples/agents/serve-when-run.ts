// `node dist/examples/agents/outline.js` serves one agent, on its default port and in every dialect.
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Agent, apiKey, bearer, type ServeOptions, serve } from 'dragoman'
import { apiKeyCredential, bearerCredential, connectAgents } from 'dragoman/client'
import { registryResolver } from 'dragoman/registry'
import type { CardForm, RegisterOptions, Route } from 'dragoman/server'

/** Options that the file of an agent sets. */
export interface ServeDefaults {
  readonly port: number
  /** Routes on the same port, beside the agent. */
  readonly routes?: readonly Route[]
  /** The card for clients that send no version. */
  readonly card?: CardForm
}

/** Secrets of callers. With both, either one is enough. */
export interface Secrets {
  /** Sent in the header `X-API-Key`. */
  readonly key?: string | undefined
  /** Sent in the header `Authorization: Bearer`. */
  readonly token?: string | undefined
}

const usage = `Options:
  --port N           port to listen on; 0 picks a free one (default: the port of the agent)
  --host ADDRESS     address to bind; an address other than loopback requires a key or a token (default: 127.0.0.1)
  --store STORE      store of the tasks: memory, file:DIR, sqlite:PATH or postgres://… (default: memory)
  --api-key KEY      require this key in X-API-Key (default: DRAGOMAN_API_KEY)
  --bearer TOKEN     require this token in Authorization: Bearer; with --api-key either one (default: DRAGOMAN_BEARER)
  --registry URL     registry to publish the agent in, and to find other agents in
  --peer NAME=URL    address of another agent, without a registry; repeatable`

/** Reads the command line and the environment and returns options for `serve`. */
export function serveOptions(defaults: ServeDefaults, args: string[] = process.argv.slice(2)): ServeOptions {
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
  const peers = Object.fromEntries(values.peer.map(parsePeer))
  return {
    port: values.port === undefined ? defaults.port : Number(values.port),
    ...(defaults.routes && { routes: defaults.routes }),
    ...(values.host && { host: values.host }),
    ...(values.store && { store: values.store }),
    ...serverAuth(secrets),
    dialects: 'all',
    ...(registry && { register: registerOptions(registry, secrets) }),
    advanced: {
      ...(defaults.card && { card: defaults.card }),
      resolve: connectAgents(peers, registry ? registryLookup(registry, secrets) : clientCredentials(secrets)),
    },
  }
}

/** Returns options for `serve` that require one of the secrets. */
export function serverAuth({ key, token }: Secrets): { auth?: ReturnType<typeof apiKey>[] } {
  const auth = [...(key ? [apiKey(key)] : []), ...(token ? [bearer(token)] : [])]
  return auth.length > 0 ? { auth } : {}
}

/** Returns the option `register` of `serve`, for the registry at `url`. */
export function registerOptions(url: string, secrets: Secrets): RegisterOptions {
  return { url, ...authHeaders(secrets) }
}

/**
 * Returns options for `connectAgents` that look agents up in the registry and send them the secret: over https, and on
 * this machine also over http.
 */
export function registryLookup(registry: string, secrets: Secrets) {
  return {
    ...clientCredentials(secrets),
    ...((secrets.key || secrets.token) && { allowedOrigins: ['*'] }),
    resolvers: [registryResolver(registry, authHeaders(secrets))],
  }
}

/** Returns options for `connect` that send a secret. */
export function clientCredentials({ key, token }: Secrets) {
  if (key) return { credentials: apiKeyCredential(key) }
  return token ? { credentials: bearerCredential(token) } : {}
}

/** Returns options for registry clients that send a secret. */
export function authHeaders({ key, token }: Secrets): { headers?: Record<string, string> } {
  if (key) return { headers: { 'x-api-key': key } }
  return token ? { headers: { authorization: `Bearer ${token}` } } : {}
}

function parsePeer(peer: string): [string, string] {
  const [, name, url] = /^([^=]+)=(.+)$/.exec(peer) ?? []
  if (!name || !url) throw new TypeError(`--peer is written NAME=URL, not ${peer}`)
  return [name, url]
}

/** Serves the agent if `meta` belongs to the module that Node was started with. Does nothing when it is imported. */
export async function serveWhenRun(meta: ImportMeta, agent: Agent, defaults: ServeDefaults) {
  if (!process.argv[1] || realpathSync(process.argv[1]) !== fileURLToPath(meta.url)) return
  try {
    const served = await serve(agent, serveOptions(defaults))
    for (const signal of ['SIGINT', 'SIGTERM'])
      process.once(signal, () => served.close().finally(() => process.exit(0)))
    console.log(`${agent.card.name} is ready at ${served.url}`)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exitCode = 2
  }
}
