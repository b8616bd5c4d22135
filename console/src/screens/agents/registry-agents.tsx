import { useQuery } from '@tanstack/react-query'
import type { NamedAgent } from 'dragoman/console'
import type { ReactNode } from 'react'
import { api } from '../../link/api.js'
import { useText } from '../../text/text.js'
import type { RegistryAgent } from '../registry/found-agent.js'
import { useAddAgent } from './use-add-agent.js'

const tones = { healthy: 'good', unhealthy: 'bad', unknown: '' } as const

/** Agents the registry lists, with the health it has seen; one that is chosen becomes one of ours. */
export function RegistryAgents({ named }: { readonly named: readonly NamedAgent[] }): ReactNode {
  const { registry } = useText()
  const add = useAddAgent()
  const listed = useQuery({
    queryKey: ['registry', 'all'],
    queryFn: () =>
      api<{ readonly agents: readonly RegistryAgent[] }>('GET', 'registry?limit=100&includeUnhealthy=true'),
  })
  const refOf = ({ namespace, name }: RegistryAgent) => `registry:${namespace}/${name}`
  const others = (listed.data?.agents ?? []).filter((agent) => !named.some(({ ref }) => ref === refOf(agent)))
  return (
    <>
      <h2 className="list-head">{registry.title}</h2>
      {listed.error && <p className="problem-text list-head">{listed.error.message}</p>}
      <ul className="agent-list">
        {others.map((agent) => {
          const state = agent.instances[0]?.health.state ?? 'unknown'
          return (
            <li key={refOf(agent)}>
              <button type="button" onClick={() => add.mutate(refOf(agent))}>
                <span className="row">
                  <strong className="grow clip">{agent.card?.name ?? agent.name}</strong>
                  <span className={`badge ${tones[state]}`}>
                    <span className="dot" />
                    {registry.health[state]}
                  </span>
                </span>
                <span className="small soft clip mono">
                  {agent.namespace}/{agent.name}
                </span>
              </button>
            </li>
          )
        })}
      </ul>
    </>
  )
}
