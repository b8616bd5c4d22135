/** The registry as a function from `Request` to `Response`, and behind a port. */
import type { Auth } from '../auth/requirement.js'
import type { Connection } from '../model/connection.js'
import type { Log } from '../model/log.js'
import { assertOptions, either, type NamesOf, namesIn } from '../model/option-names.js'
import type { Caller } from '../model/service.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { RegistryError } from '../registry-client/registry-error.js'
import { assertClosedByDefault, closePort, listen, type PortOptions, tlsFor } from '../server/bind.js'
import { settleLog } from '../server/default-log.js'
import { toFetch } from '../server/fetch.js'
import { createHealth, createReadiness } from '../server/health.js'
import { assertPublicUrl, createHostCheck, type HostCheck, hostFault, hostsOnPort } from '../server/hosts.js'
import { createListener } from '../server/listener.js'
import { toNodeListener } from '../server/node.js'
import { useStore } from '../server/open-store.js'
import { type ConnectionOptions, connectionOptions, portOptions, rateLimit, storeOption } from '../server/options.js'
import type { CompleteStore, Store } from '../stores/store.js'
import { type AnswerExchange, type Exchange, type HttpAnswer, withHeaders } from '../transports/exchange.js'
import { createAdmission, type RegistryRates } from './admission.js'
import type { ProbeOptions } from './prober.js'
import { openRegistry, type RegistryCore, type RegistryCoreOptions } from './registry.js'
import { defaultRegistryLimits, type RegistryLimits } from './registry-limits.js'
import { type ArdOptions, createArdRoutes } from './routes/ard.js'
import { createNacosRoutes } from './routes/nacos.js'
import { createRestRoutes } from './routes/rest.js'
import type { RouteGroup, RouteGroupDeps } from './routes/route-group.js'

/** Options of `createRegistry`. */
export interface RegistryOptions extends Omit<RegistryCoreOptions, 'store' | 'limits' | 'onFailure'> {
  /** Sizes, quotas and rates; each has a default. */
  readonly limits?: Partial<RegistryLimits> & RegistryRates
  /** A store, `memory` (default), `sqlite:PATH` or `postgres://…`. */
  readonly store?: Store | string
  /** Authentication of callers. Without it, all callers are `anonymous` and own all agents. */
  readonly auth?: Auth | 'none'
  /** Allows reads without credentials; publishing still requires them. Default false. */
  readonly publicRead?: boolean
  /** Whether a caller may change agents of other owners. Default: no caller may. */
  readonly isAdmin?: (caller: Caller) => boolean
  /** URL that clients use. Default: `http://localhost`; with `serveRegistry`, the address it listens at. */
  readonly publicUrl?: string
  /**
   * Names that are accepted in the `Host` header, in addition to localhost, IP addresses and the host of `publicUrl`. Default:
   * none for `serveRegistry` on loopback without `auth`; every host otherwise.
   */
  readonly allowedHosts?: readonly string[]
  /** Origins of web pages that may call the registry. Default: none. */
  readonly origins?: readonly string[]
  /** The operator, as the ARD catalog names it. */
  readonly catalog?: ArdOptions
  /** Receives log entries. Default: warnings and errors go to stderr, one line each. `false` disables the log. */
  readonly log?: Log | false
}

const limits = {
  ...namesIn(defaultRegistryLimits),
  rate: rateLimit,
  failedAuthentication: rateLimit,
} satisfies NamesOf<NonNullable<RegistryOptions['limits']>>

const probes = {
  intervalMs: true,
  retryMs: true,
  maxRetryMs: true,
  timeoutMs: true,
  concurrency: true,
  failures: true,
  history: true,
} satisfies NamesOf<ProbeOptions>

const registryOptions = {
  limits,
  store: storeOption,
  auth: true,
  publicRead: 'boolean',
  isAdmin: 'function',
  publicUrl: true,
  allowedHosts: true,
  origins: 'strings',
  catalog: { publisher: true, displayName: true } satisfies NamesOf<ArdOptions>,
  log: true,
  allowPrivate: 'boolean',
  cards: true,
  signatures: true,
  probes: either('false', probes),
  heartbeatMs: 'number',
  sweepMs: 'number',
  now: true,
} satisfies NamesOf<RegistryOptions>

/** A registry without a port. */
export interface Registry extends Pick<RegistryCore, 'publish' | 'renew' | 'withdraw' | 'find' | 'list' | 'read'> {
  /** Answers a request. `connection` has the client certificate and the address of the caller. */
  readonly fetch: (request: Request, connection?: Connection) => Promise<Response>
  /** Ends watches and probes, and closes the store if the registry opened it. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Creates a registry without a port.
 *
 * ```ts
 * const registry = await createRegistry({ store: 'sqlite:registry.sqlite', auth: [apiKey('secret')] })
 * const response = await registry.fetch(request)
 * ```
 */
export async function createRegistry(options: RegistryOptions = {}): Promise<Registry> {
  assertOptions('createRegistry', options, registryOptions)
  return await assembleRegistry(options, () => options.publicUrl ?? 'http://localhost')
}

/** As `createRegistry`, with a public URL that is known later. */
async function assembleRegistry(options: RegistryOptions, publicUrl: () => string): Promise<Registry> {
  assertPublicUrl(options.publicUrl)
  const isOwnHost = options.allowedHosts && createHostCheck(options)
  const log = settleLog(options.log)
  const { store, release } = await useStore(options.store, log)
  const onFailure = (error: unknown) => log({ level: 'error', message: 'The registry failed', error })
  const core = await openRegistry({ ...options, store, onFailure }).catch(async (error: unknown) => {
    await release()
    throw error
  })
  const deps: RouteGroupDeps = {
    registry: core,
    publicUrl: () => withoutTrailingSlashes(publicUrl()),
    // A card in a percent-encoded form is up to three times as large.
    maxBodyBytes: (options.limits?.maxCardBytes ?? defaultRegistryLimits.maxCardBytes) * 3 + 16 * 1024,
  }
  const groups = [createRestRoutes(deps), createNacosRoutes(deps), createArdRoutes(deps, options.catalog)]
  const close = async () => {
    await core.close()
    await release()
  }
  const { publish, renew, withdraw, find, list, read } = core
  const answer = createAnswer(groups, { options, store, core, onFailure, isOwnHost, publicUrl: deps.publicUrl })
  return {
    ...{ publish, renew, withdraw, find, list, read },
    fetch: toFetch(answer),
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface AnswerDeps {
  readonly options: RegistryOptions
  readonly store: CompleteStore
  readonly core: RegistryCore
  /** Absent: every host is accepted. */
  readonly isOwnHost: HostCheck | undefined
  readonly publicUrl: () => string
  onFailure(error: unknown): void
}

function createAnswer(groups: readonly RouteGroup[], deps: AnswerDeps): AnswerExchange {
  const { options, store, core, onFailure, isOwnHost, publicUrl } = deps
  const admit = createAdmission(options)
  const health = createHealth(createReadiness(store, () => false))
  const isAllowedOrigin = (origin: string | null) =>
    origin === null || origin === new URL(publicUrl()).origin || options.origins?.includes(origin) === true

  const answer = async (group: RouteGroup, exchange: Exchange): Promise<HttpAnswer> => {
    const fault = isOwnHost && hostFault(exchange, isOwnHost)
    if (fault !== undefined) throw new RegistryError('FORBIDDEN', fault)
    // Browsers let any web page send simple requests, such as forms, to any address.
    if (!isAllowedOrigin(exchange.headers.get('origin')))
      throw new RegistryError('FORBIDDEN', 'This origin may not call the registry')
    const { publisher, callerKey, rateCharge } = await admit({ exchange, isRead: group.isRead(exchange) })
    const share = core.share(callerKey, rateCharge)
    return await group.answer({ exchange, url: new URL(exchange.url), publisher, callerKey, share })
  }
  return async (exchange) => {
    const known = health(exchange.method, exchange.path)
    if (known) return await known
    const group = groups.find((each) => each.owns(exchange.path)) ?? (groups[0] as RouteGroup) // the list is not empty
    try {
      return await answer(group, exchange)
    } catch (caught) {
      const error = RegistryError.from(caught)
      if (error.cause !== undefined) onFailure(error.cause)
      const { challenge, retryAfterSeconds } = error
      return withHeaders(group.refuse(error), {
        ...(challenge !== undefined && { 'www-authenticate': challenge }),
        ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
      })
    }
  }
}

/** Options of `serveRegistry`: those of `createRegistry` and of the port. */
export interface ServeRegistryOptions extends RegistryOptions, PortOptions, ConnectionOptions {}

const optionNames = { ...portOptions, ...connectionOptions, ...registryOptions } satisfies NamesOf<ServeRegistryOptions>

/** A registry that listens on a port. */
export interface ServedRegistry {
  /** `publicUrl`, or the address it listens at. */
  readonly url: string
  /** The address it listens at. */
  readonly address: string
  readonly registry: Registry
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Serves a registry on a port.
 *
 * ```ts
 * const { url } = await serveRegistry({ port: 8848, store: 'sqlite:registry.sqlite' })
 * await serve(agent, { register: url })
 * ```
 */
export async function serveRegistry(options: ServeRegistryOptions = {}): Promise<ServedRegistry> {
  assertOptions('serveRegistry', options, optionNames)
  assertClosedByDefault(options, 'registry')
  const tls = tlsFor(options)
  let address = ''
  const allowedHosts = hostsOnPort(options)
  const registry = await assembleRegistry(
    { ...options, ...(allowedHosts && { allowedHosts }) },
    () => options.publicUrl ?? address,
  )
  const listener = createListener(toNodeListener(registry), {
    deadlines: options.deadlines,
    connections: options.connections,
    tls,
    log: settleLog(options.log),
  })
  try {
    address = await listen(listener, options)
  } catch (error) {
    await registry.close()
    throw error
  }
  const close = () => closePort(listener, () => registry.close())
  return { url: options.publicUrl ?? address, address, registry, close, [Symbol.asyncDispose]: close }
}
