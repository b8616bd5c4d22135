/** A registry as one function from `Request` to `Response`: three doors, one store. */
import type { Auth } from '../auth/requirement.js'
import type { Connection } from '../auth/scheme.js'
import type { Log } from '../model/log.js'
import { assertOptions, either, type NamesOf, namesIn } from '../model/option-names.js'
import type { Caller } from '../model/service.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { RegistryError } from '../registry-client/registry-error.js'
import { assertClosedByDefault, closePort, listen, tlsFor } from '../server/bind.js'
import { settleLog } from '../server/default-log.js'
import { createHealth } from '../server/health.js'
import { assertPublicUrl, createHostCheck, type HostCheck, hostFault, hostsOnPort } from '../server/hosts.js'
import { createListener } from '../server/listener.js'
import { toNodeListener } from '../server/node.js'
import { useStore } from '../server/open-store.js'
import {
  type ConnectionOptions,
  connectionOptions,
  type PortOptions,
  portOptions,
  rateLimit,
  storeOption,
} from '../server/options.js'
import { createReadiness } from '../server/readiness.js'
import type { CompleteStore, Store } from '../stores/store.js'
import { createAdmission, type RegistryRates } from './admission.js'
import type { ProbeOptions } from './prober.js'
import { openRegistry, type RegistryCore, type RegistryCoreOptions } from './registry.js'
import { defaultRegistryLimits, type RegistryLimits } from './registry-limits.js'
import { type ArdOptions, createArdRoutes } from './routes/ard.js'
import { createNacosRoutes } from './routes/nacos.js'
import { createRestRoutes } from './routes/rest.js'
import type { RouteGroup, RouteGroupDeps } from './routes/route-group.js'

export interface RegistryOptions extends Omit<RegistryCoreOptions, 'store' | 'limits' | 'onFailure'> {
  /** Sizes, quotas and rates. What is left out has its default. */
  readonly limits?: Partial<RegistryLimits> & RegistryRates
  /** A store, `memory` (default), or `sqlite:PATH`. */
  readonly store?: Store | string
  /** Who may call. Without it there is one caller, `anonymous`, who owns everything. */
  readonly auth?: Auth | 'none'
  /** Anybody may look agents up; publishing still needs credentials. Default false. */
  readonly publicRead?: boolean
  /** Who may change what others have published. Default: nobody. */
  readonly isAdmin?: (caller: Caller) => boolean
  /** The address clients use. Default `http://localhost`, and with `serveRegistry` the one it binds. */
  readonly publicUrl?: string
  /**
   * Further names that requests may have in `Host`. If given, other names are refused; localhost, IP addresses and the
   * host of `publicUrl` are always accepted. Default with `serveRegistry`, without `auth` on loopback: none; otherwise
   * every host is accepted.
   */
  readonly allowedHosts?: readonly string[]
  /** Origins of web pages that may call. Default: none. */
  readonly origins?: readonly string[]
  /** What the catalog says about whoever runs this registry. */
  readonly catalog?: ArdOptions
  /** Receives what callers must not see. Default: warnings and errors go to stderr, one line each. `false`: nowhere. */
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

export const registryOptions = {
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

export interface Registry extends Pick<RegistryCore, 'publish' | 'renew' | 'withdraw' | 'find' | 'list' | 'read'> {
  /** Answers a request. Who knows the connection it came on says so: client certificates are found there. */
  readonly fetch: (request: Request, connection?: Connection) => Promise<Response>
  /** Ends watches and probes, and closes the store it opened. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Makes the registry, without a port.
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

/** As above, for those who learn their own address later. */
export async function assembleRegistry(options: RegistryOptions, publicUrl: () => string): Promise<Registry> {
  assertPublicUrl(options.publicUrl)
  const isOwnHost = options.allowedHosts && createHostCheck(options)
  const log = settleLog(options.log)
  const { store, release } = await useStore(options.store, log)
  const onFailure = (error: unknown) => log({ level: 'error', message: 'The registry is in trouble', error })
  const core = await openRegistry({ ...options, store, onFailure }).catch(async (error: unknown) => {
    await release()
    throw error
  })
  const parts: RouteGroupDeps = {
    registry: core,
    publicUrl: () => withoutTrailingSlashes(publicUrl()),
    // A card and what goes with it; form fields take up to three characters for one.
    maxBodyBytes: (options.limits?.maxCardBytes ?? defaultRegistryLimits.maxCardBytes) * 3 + 16 * 1024,
  }
  const doors = [createRestRoutes(parts), createNacosRoutes(parts), createArdRoutes(parts, options.catalog)]
  const close = async () => {
    await core.close()
    await release()
  }
  const { publish, renew, withdraw, find, list, read } = core
  return {
    ...{ publish, renew, withdraw, find, list, read },
    fetch: createFetch(doors, { options, store, core, onFailure, isOwnHost, publicUrl: parts.publicUrl }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface FetchDeps {
  readonly options: RegistryOptions
  readonly store: CompleteStore
  readonly core: RegistryCore
  /** Absent: every host is accepted. */
  readonly isOwnHost: HostCheck | undefined
  readonly publicUrl: () => string
  onFailure(error: unknown): void
}

function createFetch(doors: readonly RouteGroup[], parts: FetchDeps): Registry['fetch'] {
  const { options, store, core, onFailure, isOwnHost, publicUrl } = parts
  const admit = createAdmission(options)
  const health = createHealth(createReadiness(store, () => false))
  const isFromHere = (origin: string | null) =>
    origin === null || origin === new URL(publicUrl()).origin || options.origins?.includes(origin) === true

  const answer = async (door: RouteGroup, request: Request, connection: Connection | undefined): Promise<Response> => {
    const fault = isOwnHost && hostFault(request, isOwnHost)
    if (fault !== undefined) throw new RegistryError('FORBIDDEN', fault)
    // A web page may send simple requests, forms among them, to any address its reader can reach.
    if (!isFromHere(request.headers.get('origin')))
      throw new RegistryError('FORBIDDEN', 'This origin may not call here')
    const { publisher, callerKey, rateCharge } = await admit({ request, connection, isRead: door.isRead(request) })
    const share = core.share(callerKey, rateCharge)
    return await door.answer({ request, url: new URL(request.url), publisher, callerKey, share })
  }
  return async (request, connection) => {
    const url = new URL(request.url)
    const known = health(request, url.pathname)
    if (known) return await known
    const door = doors.find((each) => each.owns(url.pathname)) ?? (doors[0] as RouteGroup) // there are three
    try {
      return await answer(door, request, connection)
    } catch (caught) {
      const error = RegistryError.from(caught)
      if (error.cause !== undefined) onFailure(error.cause)
      const refusal = door.refuse(error)
      if (error.challenge !== undefined) refusal.headers.set('www-authenticate', error.challenge)
      if (error.retryAfterSeconds !== undefined) refusal.headers.set('retry-after', String(error.retryAfterSeconds))
      return refusal
    }
  }
}

export interface ServeRegistryOptions extends RegistryOptions, PortOptions, ConnectionOptions {}

const optionNames = { ...portOptions, ...connectionOptions, ...registryOptions } satisfies NamesOf<ServeRegistryOptions>

export interface ServedRegistry {
  /** Where clients find it: the public address, or the one it listens at. */
  readonly url: string
  /** Where it listens. */
  readonly address: string
  readonly registry: Registry
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * A registry behind a port.
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
