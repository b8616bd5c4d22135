import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { CardView } from 'dragoman/console'
import type { ReactNode } from 'react'
import { useCard, useKnownAgents } from '../../link/agents.js'
import { api } from '../../link/api.js'
import { Code } from '../../parts/code.js'
import { ConfirmButton } from '../../parts/confirm-button.js'
import { JsonTree } from '../../parts/json-tree.js'
import { Failure, Loading } from '../../parts/notice.js'
import { Tabs } from '../../parts/tabs.js'
import { go, hrefTo, restate, useRoute } from '../../route.js'
import { useText } from '../../text/text.js'
import { AgentAccess } from './agent-access.js'
import { AgentHealth } from './agent-health.js'
import { CardDiff } from './card-diff.js'

export function AgentPage({ agent }: { readonly agent: string }): ReactNode {
  const { agents: words, common } = useText()
  const { query } = useRoute()
  const card = useCard(agent)
  const tabs = {
    overview: words.overview,
    card: words.card,
    diff: words.diff,
    raw: common.raw,
    access: words.access,
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
        label={words.title}
        tabs={tabs}
        chosen={tab}
        onChoose={(next) => restate(['agents', agent], { tab: next === 'overview' ? undefined : next })}
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
          <JsonTree value={card.data.raw} troubles={card.data.report.problems} depth={3} />
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
  const { agents: words } = useText()
  const errors = report.problems.filter(({ severity }) => severity === 'error').length
  const signed = signature.state === 'valid' ? 'good' : signature.state === 'invalid' ? 'bad' : ''
  return (
    <>
      <span className="badge accent">{report.version}</span>
      <span className={`badge ${errors > 0 ? 'bad' : report.problems.length > 0 ? 'warn' : 'good'}`}>
        {report.problems.length > 0 ? words.problems(report.problems.length) : words.valid}
      </span>
      <span className={`badge ${signed}`} title={signature.reason}>
        {words.signatures[signature.state]}
      </span>
    </>
  )
}

function Overview({ agent, view }: { readonly agent: string; readonly view: CardView }): ReactNode {
  const { agents: words } = useText()
  const { card, choices, warnings, refusal, signature } = view
  return (
    <div className="stack">
      <p className="plain">{card.description}</p>
      <div className="row">
        <a className="button is-main" href={hrefTo(['talk'], { with: agent })}>
          {words.talk}
        </a>
        <a className="button" href={hrefTo(['tasks', agent])}>
          {words.tasks}
        </a>
        <a className="button" href={hrefTo(['compare', agent])}>
          {words.compare}
        </a>
      </div>
      {refusal !== undefined && (
        <p className="problem-text">
          {words.notUsable}: {refusal}
        </p>
      )}
      <AgentHealth agent={agent} />
      <h3>{words.interfaces}</h3>
      <ul className="ways">
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
          <summary className="soft">{words.reasons}</summary>
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
      <h3>{words.skills}</h3>
      {card.skills.length === 0 && <p className="soft">{words.noSkills}</p>}
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
  const { agents: words, common } = useText()
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
      question={isListed ? words.removeListedQuestion : words.removeQuestion}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate()}
    />
  )
}
