/** The registry for the page: reads, watches and publishes with the credentials of the console. */
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { registryClient } from '../registry-client/registry-client.js'
import { json, refusal } from './responses.js'

const timeoutMs = 15_000
const retryMs = 2000
const segment = /^[\w.~:@ -]{1,200}$/

export interface RegistryView {
  /** The registry's response to a query. */
  list(query: URLSearchParams): Promise<Response>
  agent(namespace: string, name: string, verb?: 'health'): Promise<Response>
  publish(namespace: string, name: string, publication: object): Promise<Response>
  withdraw(namespace: string, name: string, query: URLSearchParams): Promise<Response>
  /** Whether the registry has the agent; only such agents may be called. */
  knows(namespace: string, name: string): Promise<boolean>
  close(): void
}

const queryNames = ['text', 'namespace', 'skill', 'tag', 'cursor', 'limit', 'includeUnhealthy']

interface RegistryViewOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Time without a heartbeat after which the watch reconnects. */
  readonly silenceMs?: number
  onEvent(event: unknown): void
}

export function createRegistryView(
  url: string,
  { headers = {}, silenceMs, onEvent }: RegistryViewOptions,
): RegistryView {
  const base = withoutTrailingSlashes(url)
  const registry = registryClient(base, { headers })
  const closed = new AbortController()
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    try {
      const response = await fetch(`${base}/v1/${path}`, {
        ...init,
        headers: { ...headers, ...(init.body ? { 'content-type': 'application/json' } : {}) },
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      })
      return json(response.status, await response.json())
    } catch {
      return refusal(502, `The registry at ${base} does not answer`)
    }
  }
  const pathOf = (namespace: string, name: string) => {
    if (!segment.test(namespace) || !segment.test(name)) throw new TypeError('Invalid name of an agent in the registry')
    return `agents/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`
  }

  const follow = async () => {
    while (!closed.signal.aborted) {
      try {
        const watched = registry.watch({ signal: closed.signal, ...(silenceMs !== undefined && { silenceMs }) })
        for await (const { event } of watched) onEvent(event)
      } catch {
        // The loop reconnects; the page gets the event `lost`.
      }
      if (!closed.signal.aborted) onEvent({ type: 'lost' })
      await new Promise((resolve) => setTimeout(resolve, retryMs).unref())
    }
  }
  void follow() // handles its errors, and ends with `close`

  return {
    list: (query) => {
      const asked = [...query].filter(([name]) => queryNames.includes(name))
      return ask(`agents?${new URLSearchParams(asked)}`)
    },
    agent: (namespace, name, verb) => ask(`${pathOf(namespace, name)}${verb ? `/${verb}` : ''}?includeUnhealthy=true`),
    publish: (namespace, name, publication) =>
      ask(pathOf(namespace, name), { method: 'PUT', body: JSON.stringify(publication) }),
    withdraw: (namespace, name, query) =>
      ask(
        `${pathOf(namespace, name)}?${new URLSearchParams([...query].filter(([key]) => /^(version|instance)$/.test(key)))}`,
        {
          method: 'DELETE',
        },
      ),
    knows: async (namespace, name) => (await ask(`${pathOf(namespace, name)}?includeUnhealthy=true`)).ok,
    close: () => closed.abort(),
  }
}
