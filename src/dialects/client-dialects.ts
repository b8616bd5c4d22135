/**
 * The dialects of a client. v1.0 is always there; the codecs of older dialects are loaded when a card, an address or an option
 * names one of them. In a web page they are 15 kB of the client's 50 kB, compressed.
 */
import { outline as chatRpc } from './chat-rpc/outline.js'
import type { ClientDialect, DialectOutline } from './client-dialect.js'
import { assertDialect, assertDistinctNames, bindingsOf } from './dialect.js'
import { outline as invoke } from './invoke/outline.js'
import { outline as taskRest } from './task-rest/outline.js'
import { outline as v0_1, goOutline as v0_1Go } from './v0_1/outline.js'
import { outline as v0_3 } from './v0_3/outline.js'
import { v1Client } from './v1/client.js'

export interface ClientDialects {
  /** Outlines by name. The order decides between dialects that recognise the same card. */
  readonly outlines: ReadonlyMap<string, DialectOutline>
  /** Undefined while the codecs of the dialect are not loaded. */
  loaded(name: string): ClientDialect | undefined
  /** Loads a dialect of `outlines`. */
  load(name: string): Promise<ClientDialect>
}

/** The newest dialect. Calls to services in the same process use it. */
export const newestClient: ClientDialect = v1Client

/** The version of the newest dialect, which card requests name. */
export const newestVersion: string = v1Client.versions[0] ?? ''

/** In the order of `clientDialects`. */
const outlines: readonly DialectOutline[] = [outlineOf(v1Client), v0_3, v0_1, v0_1Go, taskRest, invoke, chatRpc]

let loaded: ReadonlyMap<string, ClientDialect> = new Map([[v1Client.name, v1Client]])

const builtIn: ClientDialects = {
  outlines: new Map(outlines.map((each) => [each.name, each])),
  loaded: (name) => loaded.get(name),
  load: async (name) => loaded.get(name) ?? (await loadOlder(name)),
}

async function loadOlder(name: string): Promise<ClientDialect> {
  const { clientDialects } = await import('./clients.js')
  loaded = new Map(clientDialects.map((each) => [each.name, each]))
  return loaded.get(name) as ClientDialect // a test compares the lists
}

/** The dialects of this package, preceded by dialects of the user. */
export function withClientDialects(own: readonly ClientDialect[] = []): ClientDialects {
  if (!Array.isArray(own)) throw new TypeError('`dialects` must be a list of client dialects: `dialects: [myDialect]`')
  if (own.length === 0) return builtIn
  for (const each of own) assertDialect(each, 'client')
  assertDistinctNames(own)
  const taken = own.find(({ name }) => builtIn.outlines.has(name))
  if (taken) throw new TypeError(`A dialect is called ${taken.name} already: give yours another name`)
  const byName = new Map(own.map((each) => [each.name as string, each]))
  return {
    outlines: new Map([...own.map((each) => [each.name, outlineOf(each)] as const), ...builtIn.outlines]),
    loaded: (name) => byName.get(name) ?? builtIn.loaded(name),
    load: async (name) => byName.get(name) ?? (await builtIn.load(name)),
  }
}

function outlineOf(dialect: ClientDialect): DialectOutline {
  return { ...dialect, bindings: bindingsOf(dialect), paths: Object.values(dialect.jsonrpc?.paths ?? {}) }
}
