/** What every screen has at hand: the session, the tab's stream, and clients for the agents. */

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type AgentCard, type AgentClient, connect } from 'dragoman/client'
import type { ConsoleSession } from 'dragoman/console'
import { newestVersion } from 'dragoman/dialects'
import { createContext, type ReactNode, useContext, useEffect, useMemo } from 'react'
import { Conversations } from '../model/conversations.js'
import { beginSession, rememberRefs } from './api.js'
import { Tab } from './tab.js'

/** How an agent is spoken to; what is absent is negotiated. */
export interface Speech {
  readonly dialect?: string | undefined
  readonly binding?: string | undefined
}

export class Link {
  readonly tab = new Tab()
  readonly conversations = new Conversations(this)
  readonly #clients = new Map<string, Promise<AgentClient>>()

  /** A client of the public entry, which speaks v1.0 to the server part; that one speaks whatever the agent does. */
  client(ref: string, speech: Speech = {}): Promise<AgentClient> {
    const key = JSON.stringify([ref, speech.dialect, speech.binding])
    const known = this.#clients.get(key)
    if (known) return known
    const made = this.connect(ref, speech)
    this.#clients.set(key, made)
    made.catch(() => this.#clients.delete(key))
    return made
  }

  /** A client of one's own, for those who want to know which call was theirs. */
  connect(ref: string, { dialect = 'auto', binding = 'auto' }: Speech, onCall?: (id: string) => void) {
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
      // The server part waits for agents; what fails behind it has failed. Only the way to it is tried again.
      retry: { attempts: 20, maxDelayMs: 3000 },
      breaker: { failures: Number.POSITIVE_INFINITY },
      timeoutMs: 0,
    })
  }
}

const LinkContext = createContext<Link | undefined>(undefined)

export function LinkProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const link = useMemo(() => new Link(), [])
  const queries = useQueryClient()
  useEffect(() => {
    return link.tab.listen((event) => {
      if ('agents' in event) void queries.invalidateQueries({ queryKey: ['session'] })
      if ('call' in event) {
        void queries.invalidateQueries({ queryKey: ['calls'] })
        void queries.invalidateQueries({ queryKey: ['call', event.call.id] })
      }
      if ('delivery' in event) void queries.invalidateQueries({ queryKey: ['deliveries'] })
      if ('registry' in event) void queries.invalidateQueries({ queryKey: ['registry'] })
    })
  }, [link, queries])
  return <LinkContext value={link}>{children}</LinkContext>
}

export function useLink(): Link {
  const link = useContext(LinkContext)
  if (!link) throw new Error('There is no link here')
  return link
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
