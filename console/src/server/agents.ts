/** The agents of the page, without duplicates, with their names and cards. */
import { useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import type { CardView } from 'dragoman/console'
import { useEffect } from 'react'
import { type KnownAgent, type KnownAgents, knownAgents, type ListedAgent, sameAgent } from '../model/known-agents.js'
import { go } from '../route.js'
import type { Language } from '../text/text.js'
import { api } from './api.js'
import { ConcurrencyLimit } from './concurrency-limit.js'
import { useSession } from './console-context.js'

export interface NamedCard extends KnownAgent {
  /** From its card, else from the registry, else its address. */
  readonly name: string
  readonly view: CardView | undefined
  readonly isPending: boolean
}

const staleMs = 30_000
/** Limits requests for cards that only provide names in lists, because any of these agents may hang. */
const inBackground = new ConcurrencyLimit(3)
const readCard = (ref: string) => api<CardView>('GET', `card?${new URLSearchParams({ ref })}`)
const cardOf = (ref: string) => ({ queryKey: ['card', ref], queryFn: () => readCard(ref), staleTime: staleMs })

export function useCard(ref: string | undefined) {
  const card = useQuery<CardView>({ ...cardOf(ref ?? ''), enabled: ref !== undefined })
  // The request may already be queued.
  useEffect(() => {
    if (ref !== undefined) inBackground.runNow(ref)
  }, [ref])
  return card
}

/** The agents of the console, and the agents that are only in the registry. */
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

/** Returns the name of an agent by its address. */
export function useNameOf(): (ref: string) => string {
  const agents = useAgents()
  return (ref) => agents.find((agent) => agent.ref === ref)?.name ?? ref
}

/** The default agent, preferably one that streams. Undefined until the cards are loaded. */
export function useDefaultAgent(): string | undefined {
  const agents = useAgents()
  const usable = agents.filter(({ view }) => view && view.choices.length > 0)
  const best = usable.find(({ view }) => view?.card.capabilities.streaming) ?? usable[0]
  if (best) return best.ref
  return agents.some(({ isPending }) => isPending) ? undefined : agents[0]?.ref
}

/** The examples of an agent, those in the user's language first. The script identifies the language. */
export function examplesOf({ skills }: CardView['card'], language: Language): readonly string[] {
  const examples = [...new Set(skills.flatMap((skill) => skill.examples ?? []))]
  const isOwn = (example: string) => /\p{Script=Han}/u.test(example) === (language === 'zh')
  return [...examples.filter(isOwn), ...examples.filter((example) => !isOwn(example))]
}

/** Adds an agent unless it is known, and opens its page. */
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
