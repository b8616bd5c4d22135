import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { ConfirmButton } from '../../components/confirm-button.js'
import { Problem } from '../../components/notice.js'
import { type ListedAgent, namedAs, registryRef } from '../../model/known-agents.js'
import { hrefTo } from '../../route.js'
import { useAddAgent, useKnownAgents } from '../../server/agents.js'
import { api } from '../../server/api.js'
import { useText } from '../../text/text.js'

const tones = { healthy: 'good', unhealthy: 'bad', unknown: '' } as const

export function FoundAgent({ agent }: { readonly agent: ListedAgent }): ReactNode {
  const { registry } = useText()
  const { namespace, name, version, card, tags, instances, score } = agent
  const states = [...new Set(instances.map(({ health }) => health.state))]
  return (
    <li className="found">
      <div className="stack">
        <div className="row">
          <strong>{card?.name ?? name}</strong>
          {states.map((state) => (
            <span key={state} className={`badge ${tones[state]}`}>
              <span className="dot" />
              {registry.health[state]}
            </span>
          ))}
          {tags.map((tag) => (
            <span key={tag} className="badge">
              {tag}
            </span>
          ))}
        </div>
        {card && <p className="soft">{card.description}</p>}
        <p className="row small soft">
          <code className="break">
            {namespace}/{name}@{version}
          </code>
          <span className="faint">{registry.instances(instances.length)}</span>
          {score !== undefined && (
            <span className="faint">
              {registry.score} {Math.round(score)}
            </span>
          )}
        </p>
      </div>
      <div className="found-actions">
        <Use agent={agent} />
        <Withdraw agent={agent} />
      </div>
    </li>
  )
}

function Use({ agent }: { readonly agent: ListedAgent }): ReactNode {
  const { registry, common } = useText()
  const add = useAddAgent()
  const known = namedAs(useKnownAgents(), agent)
  if (known)
    return (
      <a className="button is-small" href={hrefTo(['agents', known.ref])}>
        {common.open}
      </a>
    )
  return (
    <>
      <button
        type="button"
        className="button is-small"
        disabled={add.isPending}
        onClick={() => add.mutate(registryRef(agent))}
      >
        {registry.use}
      </button>
      <Problem error={add.error} />
    </>
  )
}

function Withdraw({ agent: { namespace, name } }: { readonly agent: ListedAgent }): ReactNode {
  const { registry } = useText()
  const queries = useQueryClient()
  const withdraw = useMutation({
    mutationFn: () => api('DELETE', `registry/agent?${new URLSearchParams({ namespace, name })}`),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['registry'] }),
  })
  return (
    <>
      <ConfirmButton
        label={registry.withdraw}
        question={registry.withdrawQuestion(`${namespace}/${name}`)}
        isBusy={withdraw.isPending}
        onConfirm={() => withdraw.mutate()}
      />
      <Problem error={withdraw.error} />
    </>
  )
}
