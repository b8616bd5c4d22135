/** The registry as the page sees it: looked through, followed, and published to, with the console's credentials. */
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { registryClient } from '../registry-client/registry-client.js'
import { json, refusal } from './responses.js'

const timeoutMs = 15_000
const retryMs = 2000
const segment = /^[\w.~:@ -]{1,200}$/

export interface RegistryView {
  /** What a query finds, as the registry answers it. */
  list(query: URLSearchParams): Promise<Response>
  agent(namespace: string, name: string, verb?: 'health'): Promise<Response>
  publish(namespace: string, name: string, publication: object): Promise<Response>
  withdraw(namespace: string, name: string, query: URLSearchParams): Promise<Response>
  /** Whether it lists an agent: only those may be called. */
  knows(namespace: string, name: string): Promise<boolean>
  close(): void
}

const allowed = ['text', 'namespace', 'skill', 'tag', 'cursor', 'limit', 'includeUnhealthy']

export interface RegistryViewOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** How long the registry may say nothing, before it counts as gone and is asked again. */
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
  const place = (namespace: string, name: string) => {
    if (!segment.test(namespace) || !segment.test(name)) throw new TypeError('That is no name in a registry')
    return `agents/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`
  }

  const follow = async () => {
    while (!closed.signal.aborted) {
      try {
        const watched = registry.watch({ signal: closed.signal, ...(silenceMs !== undefined && { silenceMs }) })
        for await (const { event } of watched) onEvent(event)
      } catch {
        // It is asked again; the page sees that nothing comes.
      }
      if (!closed.signal.aborted) onEvent({ type: 'lost' })
      await new Promise((resolve) => setTimeout(resolve, retryMs).unref())
    }
  }
  void follow() // it owns its failures, and ends with `close`

  return {
    list: (query) => {
      const asked = [...query].filter(([name]) => allowed.includes(name))
      return ask(`agents?${new URLSearchParams(asked)}`)
    },
    agent: (namespace, name, verb) => ask(`${place(namespace, name)}${verb ? `/${verb}` : ''}?includeUnhealthy=true`),
    publish: (namespace, name, publication) =>
      ask(place(namespace, name), { method: 'PUT', body: JSON.stringify(publication) }),
    withdraw: (namespace, name, query) =>
      ask(
        `${place(namespace, name)}?${new URLSearchParams([...query].filter(([key]) => /^(version|instance)$/.test(key)))}`,
        {
          method: 'DELETE',
        },
      ),
    knows: async (namespace, name) => (await ask(`${place(namespace, name)}?includeUnhealthy=true`)).ok,
    close: () => closed.abort(),
  }
}
