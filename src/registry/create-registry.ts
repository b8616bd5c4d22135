/** A registry as one function from `Request` to `Response`: three doors, one store. */
import { createAdmit } from '../auth/admit.js'
import { type Auth, requirementsOf, schemesOf } from '../auth/requirement.js'
import type { Connection } from '../auth/scheme.js'
import { isRefused } from '../model/admission.js'
import type { Log } from '../model/log.js'
import { anonymous, type Caller } from '../model/service.js'
import { RegistryError } from '../registry-client/registry-error.js'
import { noticesTo, openStore } from '../server/open-store.js'
import type { Store } from '../stores/store.js'
import { withAccessToken } from './doors/access-token.js'
import { type ArdOptions, createArdDoor } from './doors/ard.js'
import { type Door, type DoorParts, json } from './doors/door.js'
import { createNacosDoor } from './doors/nacos.js'
import { createRestDoor } from './doors/rest.js'
import { usualLimits } from './limits.js'
import type { Publisher } from './publications.js'
import { openRegistry, type RegistryCore, type RegistryCoreOptions } from './registry.js'

export interface RegistryOptions extends Omit<RegistryCoreOptions, 'store' | 'onFailure'> {
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
  /** Origins of web pages that may call. Default: none. */
  readonly origins?: readonly string[]
  /** What the catalog says about whoever runs this registry. */
  readonly catalog?: ArdOptions
  /** Where things go that no caller may see. Default: nowhere. */
  readonly log?: Log
}

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
  return await assembleRegistry(options, () => options.publicUrl ?? 'http://localhost')
}

/** As above, for those who learn their own address later. */
export async function assembleRegistry(options: RegistryOptions, publicUrl: () => string): Promise<Registry> {
  const given = options.store ?? 'memory'
  const store = typeof given === 'string' ? await openStore(given, noticesTo(options.log)) : given
  const onFailure = (error: unknown) => options.log?.({ level: 'error', message: 'The registry is in trouble', error })
  const core = await openRegistry({ ...options, store, onFailure }).catch(async (error: unknown) => {
    if (typeof given === 'string') await store.close()
    throw error
  })
  const parts: DoorParts = {
    registry: core,
    publicUrl: () => publicUrl().replace(/\/+$/, ''),
    // A card and what goes with it; form fields take up to three characters for one.
    maxBodyBytes: (options.limits?.maxCardBytes ?? usualLimits.maxCardBytes) * 3 + 16 * 1024,
  }
  const doors = [createRestDoor(parts), createNacosDoor(parts), createArdDoor(parts, options.catalog)]
  const close = async () => {
    await core.close()
    if (typeof given === 'string') await store.close()
  }
  const { publish, renew, withdraw, find, list, read } = core
  return {
    ...{ publish, renew, withdraw, find, list, read },
    fetch: createFetch(doors, { options, store, onFailure, publicUrl: parts.publicUrl }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface FetchParts {
  readonly options: RegistryOptions
  readonly store: Store
  readonly publicUrl: () => string
  onFailure(error: unknown): void
}

function createFetch(doors: readonly Door[], { options, store, onFailure, publicUrl }: FetchParts): Registry['fetch'] {
  const requirements = options.auth === undefined || options.auth === 'none' ? [] : requirementsOf(options.auth)
  const schemes = schemesOf(requirements)
  const admit = requirements.length > 0 ? createAdmit(requirements) : undefined
  const isFromHere = (origin: string | null) =>
    origin === null || origin === new URL(publicUrl()).origin || options.origins?.includes(origin) === true

  const publisherOf = async (arrival: Arrival): Promise<Publisher> => {
    const { request, door, connection } = arrival
    if (!admit) return nobody
    const headers = withAccessToken(request.headers, schemes)
    const admission = await admit({ ...connection, headers, url: request.url })
    if (!isRefused(admission))
      return { id: admission.id, isAdmin: options.isAdmin?.(admission) ?? false, isKnown: true }
    const { refused, challenge } = admission
    if (options.publicRead && door.isRead(request)) return nobody
    const code = refused.code === 'UNAUTHENTICATED' ? 'UNAUTHENTICATED' : 'FORBIDDEN'
    throw new RegistryError(code, refused.message, challenge === undefined ? {} : { challenge })
  }
  const answer = async (arrival: Arrival, url: URL): Promise<Response> => {
    const { request, door } = arrival
    // A web page may send simple requests, forms among them, to any address its reader can reach.
    if (!isFromHere(request.headers.get('origin')))
      throw new RegistryError('FORBIDDEN', 'This origin may not call here')
    return await door.answer({ request, url, publisher: await publisherOf(arrival) })
  }
  return async (request, connection) => {
    const url = new URL(request.url)
    if (url.pathname === '/healthz') return json(200, { status: 'ok' })
    if (url.pathname === '/readyz') return await readiness(store)
    const door = doors.find((each) => each.owns(url.pathname)) ?? (doors[0] as Door) // there are three
    try {
      return await answer({ request, door, connection }, url)
    } catch (caught) {
      const error = RegistryError.from(caught)
      if (error.code === 'INTERNAL') onFailure(error.cause)
      const refusal = door.refuse(error)
      if (error.challenge !== undefined) refusal.headers.set('www-authenticate', error.challenge)
      return refusal
    }
  }
}

interface Arrival {
  readonly request: Request
  readonly door: Door
  readonly connection: Connection | undefined
}

/** Where callers are not told apart, and those who only look. */
const nobody: Publisher = { id: anonymous.id, isAdmin: false, isKnown: false }

async function readiness(store: Store): Promise<Response> {
  const isUp = await store.ping().then(
    () => true,
    () => false,
  )
  return json(isUp ? 200 : 503, { status: isUp ? 'ready' : 'not ready' })
}
