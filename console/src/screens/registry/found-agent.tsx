import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { AgentCard } from 'dragoman/client'
import type { ReactNode } from 'react'
import { api } from '../../link/api.js'
import { go } from '../../route.js'
import { useText } from '../../text/text.js'

/** What the registry tells of an agent, as far as it is shown here. */
export interface RegistryAgent {
  readonly namespace: string
  readonly name: string
  readonly version: string
  readonly tags: readonly string[]
  readonly card?: AgentCard
  readonly score?: number
  readonly instances: readonly {
    readonly instance: string
    readonly url: string
    readonly health: { readonly state: 'healthy' | 'unhealthy' | 'unknown' }
  }[]
}

const tones = { healthy: 'good', unhealthy: 'bad', unknown: '' } as const

export function FoundAgent({ agent }: { readonly agent: RegistryAgent }): ReactNode {
  const { registry } = useText()
  const queries = useQueryClient()
  const { namespace, name, version, card, tags, instances, score } = agent
  const use = useMutation({
    mutationFn: () => api<{ readonly ref: string }>('POST', 'agents', { ref: `registry:${namespace}/${name}` }),
    onSuccess: async ({ ref }) => {
      await queries.refetchQueries({ queryKey: ['session'] })
      go(['agents', ref])
    },
  })
  const withdraw = useMutation({
    mutationFn: () => api('DELETE', `registry/agent?${new URLSearchParams({ namespace, name })}`),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['registry'] }),
  })
  const problem = use.error ?? withdraw.error
  const states = [...new Set(instances.map(({ health }) => health.state))]
  return (
    <li className="wire-line">
      <div className="row">
        <strong>{card?.name ?? name}</strong>
        <code className="soft">
          {namespace}/{name}@{version}
        </code>
        {states.map((state) => (
          <span key={state} className={`badge ${tones[state]}`}>
            <span className="dot" />
            {registry.health[state]}
          </span>
        ))}
        <span className="faint small">{registry.instances(instances.length)}</span>
        {score !== undefined && (
          <span className="faint small">
            {registry.score} {Math.round(score)}
          </span>
        )}
        <span className="grow" />
        <button type="button" className="button is-small" onClick={() => use.mutate()}>
          {registry.use}
        </button>
        <button type="button" className="button is-quiet is-danger is-small" onClick={() => withdraw.mutate()}>
          {registry.withdraw}
        </button>
      </div>
      {card && <p className="soft">{card.description}</p>}
      <div className="row">
        {tags.map((tag) => (
          <span key={tag} className="badge">
            {tag}
          </span>
        ))}
      </div>
      {problem && <p className="problem-text">{problem.message}</p>}
    </li>
  )
}
