/** The agents of the page, each once, with their names and cards. */
import { useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import type { CardView } from 'dragoman/console'
import { useEffect } from 'react'
import { type KnownAgent, type KnownAgents, knownAgents, type ListedAgent, sameAgent } from '../model/known-agents.js'
import { go } from '../route.js'
import type { Language } from '../text/text.js'
import { api } from './api.js'
import { FewAtOnce } from './few-at-once.js'
import { useSession } from './link.js'

export interface NamedCard extends KnownAgent {
  /** What its card says, else the registry's; an address when nobody can tell. */
  readonly name: string
  readonly view: CardView | undefined
  readonly isPending: boolean
}

const staleMs = 30_000
/** Cards that nobody looks at, for the names in lists: any of their agents may be dead. */
const inBackground = new FewAtOnce(3)
const readCard = (ref: string) => api<CardView>('GET', `card?${new URLSearchParams({ ref })}`)
const cardOf = (ref: string) => ({ queryKey: ['card', ref], queryFn: () => readCard(ref), staleTime: staleMs })

export function useCard(ref: string | undefined) {
  const card = useQuery<CardView>({ ...cardOf(ref ?? ''), enabled: ref !== undefined })
  // It may be asked for already, and wait for its turn.
  useEffect(() => {
    if (ref !== undefined) inBackground.hurry(ref)
  }, [ref])
  return card
}

/** Those that may be called, and those that only the registry knows. */
export function useKnownAgents(): KnownAgents & { readonly error: Error | null } {
  const session = useSession()
  const listed = useQuery({
    queryKey: ['registry', 'all'],
    queryFn: () => api<{ readonly agents: readonly ListedAgent[] }>('GET', 'registry?limit=100&includeUnhealthy=true'),
    enabled: session.data?.registry !== undefined,
  })
  return { ...knownAgents(session.data?.agents ?? [], listed.data?.agents ?? []), error: listed.error }
}

export function useAgents(): readonly NamedCard[] {
  const { named } = useKnownAgents()
  const cards = useQueries({
    queries: named.map(({ ref }) => ({
      ...cardOf(ref),
      queryFn: () => inBackground.run(ref, () => readCard(ref)),
    })),
  })
  return named.map((agent, place) => {
    const { data: view, isPending = false } = cards[place] ?? {}
    return { ...agent, view, isPending, name: view?.card.name || agent.listed?.card?.name || agent.ref }
  })
}

/** What to call an agent whose address is at hand. */
export function useNameOf(): (ref: string) => string {
  const agents = useAgents()
  return (ref) => agents.find((agent) => agent.ref === ref)?.name ?? ref
}

/** Whom to begin with when nobody was chosen: one that streams shows most. Absent until it is known. */
export function useDefaultAgent(): string | undefined {
  const agents = useAgents()
  const usable = agents.filter(({ view }) => view && view.choices.length > 0)
  const best = usable.find(({ view }) => view?.card.capabilities.streaming) ?? usable[0]
  if (best) return best.ref
  return agents.some(({ isPending }) => isPending) ? undefined : agents[0]?.ref
}

/** What the agent likes to hear, in the reader's own language first: which script it is in tells that much. */
export function examplesOf({ skills }: CardView['card'], language: Language): readonly string[] {
  const examples = [...new Set(skills.flatMap((skill) => skill.examples ?? []))]
  const isOwn = (example: string) => /\p{Script=Han}/u.test(example) === (language === 'zh')
  return [...examples.filter(isOwn), ...examples.filter((example) => !isOwn(example))]
}

/** Names an agent, so that it may be called, and goes to it; one that is known already is not named twice. */
export function useAddAgent() {
  const queries = useQueryClient()
  const known = useKnownAgents()
  return useMutation({
    mutationFn: async (ref: string) =>
      sameAgent(known, ref) ?? (await api<{ readonly ref: string }>('POST', 'agents', { ref })),
    onSuccess: async ({ ref }) => {
      await queries.refetchQueries({ queryKey: ['session'] })
      go(['agents', ref])
    },
  })
}
