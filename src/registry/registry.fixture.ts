/** Registries for tests: with a manual clock, valid cards and several callers. */
import type { AgentCard } from '../model/agent-card.js'
import { completeStore } from '../stores/complete-store.js'
import { MemoryStore } from '../stores/memory.js'
import type { CompleteStore } from '../stores/store.js'
import { type ServeRegistryOptions, serveRegistry } from './create-registry.js'
import type { Publisher } from './publications.js'
import { openRegistry, type RegistryCore, type RegistryCoreOptions } from './registry.js'

export const ann: Publisher = { id: 'ann', isAdmin: false, isKnown: true }
export const bob: Publisher = { id: 'bob', isAdmin: false, isKnown: true }
export const admin: Publisher = { id: 'root', isAdmin: true, isKnown: true }

export function cardFor(name: string, more: Partial<AgentCard> = {}): AgentCard {
  return {
    name,
    description: `The agent ${name}`,
    version: '1.0.0',
    supportedInterfaces: [{ url: 'http://127.0.0.1:9/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'work', name: 'Work', description: 'Works', tags: ['test'] }],
    ...more,
  }
}

/** A card member with one interface at this URL. */
export function at(url: string): Pick<AgentCard, 'supportedInterfaces'> {
  return { supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }
}

export interface TestRegistry extends RegistryCore, AsyncDisposable {
  readonly store: CompleteStore
  readonly clock: { ms: number }
}

/** Opens a registry in memory, without probes, that accepts private addresses; the test moves the clock. */
export async function testRegistry(options: Partial<RegistryCoreOptions> = {}): Promise<TestRegistry> {
  const clock = { ms: Date.UTC(2026, 0, 5, 8) }
  const now = () => clock.ms
  const store = options.store ?? new MemoryStore({ now })
  const core = await openRegistry({ allowPrivate: true, probes: false, sweepMs: 1_000_000, now, ...options, store })
  return { ...core, store: completeStore(store), clock, [Symbol.asyncDispose]: () => core.close() }
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the type of its body
  readonly body: any
}

/** Serves a registry on a port; `call` sends requests to it. */
export async function open(options: ServeRegistryOptions = {}) {
  const served = await serveRegistry({ allowPrivate: true, probes: false, ...options })
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const isForm = body instanceof URLSearchParams
    const response = await fetch(served.address + path, {
      method,
      headers: { ...(body !== undefined && !isForm && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: isForm ? body : typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  return { served, call, [Symbol.asyncDispose]: () => served.close() }
}
