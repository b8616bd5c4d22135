import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { CardView } from 'dragoman/console'
import type { ReactNode } from 'react'
import { Code } from '../../components/code.js'
import { ConfirmButton } from '../../components/confirm-button.js'
import { JsonTree } from '../../components/json-tree.js'
import { Failure, Loading } from '../../components/notice.js'
import { Tabs } from '../../components/tabs.js'
import { go, hrefTo, replaceRoute, useRoute } from '../../route.js'
import { useCard, useKnownAgents } from '../../server/agents.js'
import { api } from '../../server/api.js'
import { useText } from '../../text/text.js'
import { AgentAccess } from './agent-access.js'
import { AgentHealth } from './agent-health.js'
import { CardDiff } from './card-diff.js'

export function AgentPage({ agent }: { readonly agent: string }): ReactNode {
  const { agents: labels, common } = useText()
  const { query } = useRoute()
  const card = useCard(agent)
  const tabs = {
    overview: labels.overview,
    card: labels.card,
    diff: labels.diff,
    raw: common.raw,
    access: labels.access,
  }
  const asked = query.get('tab') ?? ''
  const tab = asked in tabs ? (asked as keyof typeof tabs) : 'overview'
  return (
    <section className="panel" aria-label={card.data?.card.name ?? agent}>
      <header>
        <div className="grow">
          <h2 className="break">{card.data?.card.name ?? agent}</h2>
          <span className="small soft mono break">{agent}</span>
        </div>
        {card.data && <CardBadges view={card.data} />}
        <RemoveAgent agent={agent} />
      </header>
      <Tabs
        label={labels.title}
        tabs={tabs}
        chosen={tab}
        onChoose={(next) => replaceRoute(['agents', agent], { tab: next === 'overview' ? undefined : next })}
      />
      <div className="body" role="tabpanel" aria-label={tabs[tab]}>
        {tab === 'access' ? (
          <AgentAccess agent={agent} card={card.data?.card} />
        ) : card.isPending ? (
          <Loading />
        ) : !card.data ? (
          <Failure error={card.error} onRetry={() => void card.refetch()} />
        ) : tab === 'overview' ? (
          <Overview agent={agent} view={card.data} />
        ) : tab === 'card' ? (
          <JsonTree value={card.data.raw} faults={card.data.report.problems} depth={3} />
        ) : tab === 'diff' ? (
          <CardDiff agent={agent} view={card.data} />
        ) : (
          <Code label={common.raw} text={JSON.stringify(card.data.raw, null, 2)} />
        )}
      </div>
    </section>
  )
}

function CardBadges({ view: { report, signature } }: { readonly view: CardView }): ReactNode {
  const { agents: labels } = useText()
  const errors = report.problems.filter(({ severity }) => severity === 'error').length
  const signed = signature.state === 'valid' ? 'good' : signature.state === 'invalid' ? 'bad' : ''
  return (
    <>
      <span className="badge accent">{report.version}</span>
      <span className={`badge ${errors > 0 ? 'bad' : report.problems.length > 0 ? 'warn' : 'good'}`}>
        {report.problems.length > 0 ? labels.problems(report.problems.length) : labels.valid}
      </span>
      <span className={`badge ${signed}`} title={signature.reason}>
        {labels.signatures[signature.state]}
      </span>
    </>
  )
}

function Overview({ agent, view }: { readonly agent: string; readonly view: CardView }): ReactNode {
  const { agents: labels } = useText()
  const { card, choices, warnings, refusal, signature } = view
  return (
    <div className="stack">
      <p className="plain">{card.description}</p>
      <div className="row">
        <a className="button is-main" href={hrefTo(['talk'], { with: agent })}>
          {labels.talk}
        </a>
        <a className="button" href={hrefTo(['tasks', agent])}>
          {labels.tasks}
        </a>
        <a className="button" href={hrefTo(['compare', agent])}>
          {labels.compare}
        </a>
      </div>
      {refusal !== undefined && (
        <p className="problem-text">
          {labels.notUsable}: {refusal}
        </p>
      )}
      <AgentHealth agent={agent} />
      <h3>{labels.interfaces}</h3>
      <ul className="interfaces">
        {choices.map(({ dialect, binding, url }) => (
          <li key={`${dialect} ${binding} ${url}`} className="row">
            <span className="badge accent">{dialect}</span>
            <span className="badge">{binding}</span>
            <code className="break">{url}</code>
          </li>
        ))}
      </ul>
      {choices[0] && (
        <details>
          <summary className="soft">{labels.reasons}</summary>
          <ul className="small soft break">
            {choices[0].reasons.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
            {signature.reason !== undefined && <li>{signature.reason}</li>}
            {warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        </details>
      )}
      <h3>{labels.skills}</h3>
      {card.skills.length === 0 && <p className="soft">{labels.noSkills}</p>}
      <ul>
        {card.skills.map((skill) => (
          <li key={skill.id} className="skill">
            <span className="row">
              <strong>{skill.name}</strong>
              {skill.tags?.map((tag) => (
                <span key={tag} className="badge">
                  {tag}
                </span>
              ))}
            </span>
            <span className="soft">{skill.description}</span>
            <span className="row">
              {skill.examples?.map((example) => (
                <a key={example} className="button is-small" href={hrefTo(['talk'], { with: agent, say: example })}>
                  {example}
                </a>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}

function RemoveAgent({ agent }: { readonly agent: string }): ReactNode {
  const { agents: labels, common } = useText()
  const queries = useQueryClient()
  const isListed = useKnownAgents().named.some(({ ref, listed }) => ref === agent && listed !== undefined)
  const remove = useMutation({
    mutationFn: () => api('DELETE', `agents?${new URLSearchParams({ ref: agent })}`),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['session'] })
      go(['agents'])
    },
  })
  return (
    <ConfirmButton
      label={common.remove}
      question={isListed ? labels.removeListedQuestion : labels.removeQuestion}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate()}
    />
  )
}
