/** Shared state of all screens: the session, the tab's stream, and clients for the agents. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type AgentCard, type AgentClient, connect } from 'dragoman/client'
import type { ConsoleSession } from 'dragoman/console'
import { newestVersion } from 'dragoman/dialects'
import { createContext, type ReactNode, useContext, useEffect, useMemo } from 'react'
import { Conversations } from '../model/conversations.js'
import { beginSession, rememberRefs } from './api.js'
import { Tab } from './tab.js'

/** Dialect and binding for calls of an agent; absent members are negotiated. */
export interface Protocol {
  readonly dialect?: string | undefined
  readonly binding?: string | undefined
}

/** The state of one page. */
export class ConsoleContext {
  readonly tab = new Tab()
  readonly conversations = new Conversations(this)
  readonly #clients = new Map<string, Promise<AgentClient>>()

  /** A shared client. It calls the console's server in v1.0; the server calls the agent in the agent's dialect. */
  client(ref: string, protocol: Protocol = {}): Promise<AgentClient> {
    const key = JSON.stringify([ref, protocol.dialect, protocol.binding])
    const known = this.#clients.get(key)
    if (known) return known
    const made = this.connect(ref, protocol)
    this.#clients.set(key, made)
    made.catch(() => this.#clients.delete(key))
    return made
  }

  /** A separate client, which reports the ids of its calls. */
  connect(ref: string, { dialect = 'auto', binding = 'auto' }: Protocol, onCall?: (id: string) => void) {
    const path = [ref, dialect, binding].map(encodeURIComponent).join('/')
    const card: AgentCard = {
      name: ref,
      description: '',
      version: '',
      supportedInterfaces: [
        { url: `${location.origin}/console/a2a/${path}`, protocolBinding: 'JSONRPC', protocolVersion: newestVersion },
      ],
      capabilities: { streaming: true },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [],
    }
    return connect(card, {
      fetch: this.tab.fetchWith(onCall),
      // The server handles failures of agents. The client retries only the connection to the server.
      retry: { attempts: 20, maxDelayMs: 3000 },
      breaker: { failures: Number.POSITIVE_INFINITY },
      timeoutMs: 0,
    })
  }
}

const ReactConsoleContext = createContext<ConsoleContext | undefined>(undefined)

export function ConsoleProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const context = useMemo(() => new ConsoleContext(), [])
  const queries = useQueryClient()
  useEffect(() => {
    return context.tab.listen((event) => {
      if ('agents' in event) void queries.invalidateQueries({ queryKey: ['session'] })
      if ('call' in event) {
        void queries.invalidateQueries({ queryKey: ['calls'] })
        void queries.invalidateQueries({ queryKey: ['call', event.call.id] })
      }
      if ('delivery' in event) void queries.invalidateQueries({ queryKey: ['deliveries'] })
      if ('registry' in event) void queries.invalidateQueries({ queryKey: ['registry'] })
    })
  }, [context, queries])
  return <ReactConsoleContext value={context}>{children}</ReactConsoleContext>
}

export function useConsole(): ConsoleContext {
  const context = useContext(ReactConsoleContext)
  if (!context) throw new Error('useConsole needs a ConsoleProvider')
  return context
}

export function useSession() {
  return useQuery<ConsoleSession>({
    queryKey: ['session'],
    queryFn: async () => {
      const session = await beginSession()
      rememberRefs(session.agents.filter(({ from }) => from !== 'given').map(({ ref }) => ref))
      return session
    },
  })
}
