// `node dist/examples/agents/outline.js` serves one agent, on its default port and in every dialect.
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Agent, apiKey, bearer, type ServeOptions, serve } from 'dragoman'
import { connectAgents, apiKey as showKey, bearer as showToken } from 'dragoman/client'
import { registryResolver } from 'dragoman/registry'
import type { RegisterOptions, Route } from 'dragoman/server'

/** What an agent's own file says about how it is served. */
export interface Usual {
  readonly port: number
  /** what its port carries beside it */
  readonly routes?: readonly Route[]
  /** the card for readers that name no version */
  readonly card?: ServeOptions['card']
}

/** Secrets that callers may show; either one is enough. */
export interface Secrets {
  /** in the header `X-API-Key` */
  readonly key?: string | undefined
  /** in the header `Authorization: Bearer` */
  readonly token?: string | undefined
}

const usage = `Options:
  --port N           instead of the usual one; 0 is any that is free
  --host ADDRESS     default 127.0.0.1; another one needs a key
  --store STORE      memory (default), file:DIR, sqlite:PATH or postgres://…
  --api-key KEY      callers must show it; default: DRAGOMAN_API_KEY
  --bearer TOKEN     or this token, as Authorization: Bearer; default: DRAGOMAN_BEARER
  --registry URL     where to be found, and where to find the agents that this one asks
  --peer NAME=URL    where one of them is, without a registry; may be repeated`

/** What the command line and the environment say, as options for `serve`. */
export function serveOptions(usual: Usual, args: string[] = process.argv.slice(2)): ServeOptions {
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

/** Options for `serve` that let callers in who show one of the secrets. */
export function authWith({ key, token }: Secrets): { auth?: ReturnType<typeof apiKey>[] } {
  const auth = [...(key ? [apiKey(key)] : []), ...(token ? [bearer(token)] : [])]
  return auth.length > 0 ? { auth } : {}
}

/**
 * How to be found.
 * @param url of the registry
 */
export function registerAt(url: string, secrets: Secrets): RegisterOptions {
  return { url, ...headersWith(secrets) }
}

/** Finds others in the registry. Agents that it knows get the key over https, and on this machine over http too. */
export function knownTo(registry: string, secrets: Secrets) {
  return {
    ...shows(secrets),
    ...((secrets.key || secrets.token) && { allowedOrigins: ['*'] }),
    resolvers: [registryResolver(registry, headersWith(secrets))],
  }
}

/** Options for `connect` that show a secret. */
export function shows({ key, token }: Secrets) {
  if (key) return { credentials: showKey(key) }
  return token ? { credentials: showToken(token) } : {}
}

/** For registries. */
export function headersWith({ key, token }: Secrets): { headers?: Record<string, string> } {
  if (key) return { headers: { 'x-api-key': key } }
  return token ? { headers: { authorization: `Bearer ${token}` } } : {}
}

function nameAndAddress(peer: string): [string, string] {
  const [, name, url] = /^([^=]+)=(.+)$/.exec(peer) ?? []
  if (!name || !url) throw new TypeError(`--peer is written NAME=URL, not ${peer}`)
  return [name, url]
}

/** Does nothing when the module is imported. */
export async function serveWhenRun(meta: ImportMeta, agent: Agent, usual: Usual) {
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
