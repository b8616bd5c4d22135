import { type FormEvent, type ReactNode, useState } from 'react'
import { BackLink } from '../../components/back-link.js'
import { Icon } from '../../components/icon.js'
import { Notice, Problem } from '../../components/notice.js'
import { placeOf, registryRef } from '../../model/known-agents.js'
import { hrefTo, useRoute } from '../../route.js'
import { type NamedCard, useAddAgent, useAgents, useKnownAgents } from '../../server/agents.js'
import { useSession } from '../../server/console-context.js'
import { useText } from '../../text/text.js'
import { AgentPage } from './agent-page.js'
import { Welcome } from './welcome.js'

export function AgentsScreen(): ReactNode {
  const { agents: labels } = useText()
  const { path } = useRoute()
  const session = useSession()
  const agents = useAgents()
  const ref = path[1]
  const isEmpty = agents.length === 0 && session.data?.registry === undefined
  return (
    <div className="screen">
      <div className="screen-head">
        <h1>{labels.title}</h1>
        <AddAgent />
      </div>
      {isEmpty && ref === undefined ? (
        <div className="panel">
          <Notice title={labels.empty} text={labels.emptyText} />
        </div>
      ) : (
        <div className={`split${ref === undefined ? '' : ' is-chosen'}`}>
          <nav className="panel" aria-label={labels.title}>
            <ul className="agent-list">
              {agents.map((agent) => (
                <AgentRow
                  key={agent.ref}
                  agent={agent}
                  isChosen={ref !== undefined && placeOf(agent.ref) === placeOf(ref)}
                />
              ))}
            </ul>
            {session.data?.registry !== undefined && <OtherAgents />}
          </nav>
          {ref === undefined ? (
            <Welcome />
          ) : (
            <div className="stack">
              <BackLink to={['agents']} />
              {session.data?.agents.some((agent) => agent.ref === ref) ? (
                <AgentPage key={ref} agent={ref} />
              ) : (
                <UnknownAgent agent={ref} />
              )}
            </div>
          )}
        </div>
      )}
    </div>
  )
}

function AgentRow({ agent, isChosen }: { readonly agent: NamedCard; readonly isChosen: boolean }): ReactNode {
  const { agents: labels } = useText()
  const { ref, name, view, isPending, listed, from } = agent
  const tone = isPending ? '' : view ? (view.choices.length > 0 ? 'good' : 'warn') : 'bad'
  return (
    <li>
      <a href={hrefTo(['agents', ref])} aria-current={isChosen ? 'true' : undefined}>
        <span className="row is-one-line">
          <strong className="grow clip">{name}</strong>
          <span className={`badge ${tone}`}>
            <span className={`dot${isPending ? ' pulse' : ''}`} />
            {isPending ? labels.checking : view ? labels.ready : labels.noAnswer}
          </span>
        </span>
        <span className="row is-one-line small soft">
          <span className="grow clip mono">{ref}</span>
          {listed && <span className="faint">{labels.inRegistry}</span>}
          {from === 'pasted' && !listed && <span className="faint">{labels.added}</span>}
        </span>
      </a>
    </li>
  )
}

const tones = { healthy: 'good', unhealthy: 'bad', unknown: '' } as const

/** Agents that are only in the registry, with their health there. Choosing one adds it to the console. */
function OtherAgents(): ReactNode {
  const { agents: labels, registry } = useText()
  const add = useAddAgent()
  const { others, error } = useKnownAgents()
  if (others.length === 0 && !error) return null
  return (
    <>
      <h2 className="list-head">{labels.onlyInRegistry}</h2>
      <Problem error={error ?? add.error} />
      <ul className="agent-list">
        {others.map((agent) => {
          const state = agent.instances[0]?.health.state ?? 'unknown'
          return (
            <li key={registryRef(agent)}>
              <button type="button" onClick={() => add.mutate(registryRef(agent))}>
                <span className="row is-one-line">
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

function AddAgent(): ReactNode {
  const { agents: labels, common } = useText()
  const [typed, setTyped] = useState('')
  const add = useAddAgent()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (typed.trim() !== '') add.mutate(typed.trim(), { onSuccess: () => setTyped('') })
  }
  return (
    <form className="row grow" onSubmit={submit}>
      <label className="grow">
        <span className="hidden-text">{labels.addLabel}</span>
        <input
          className="input"
          placeholder={labels.placeholder}
          value={typed}
          spellCheck={false}
          autoCapitalize="off"
          onChange={({ target }) => setTyped(target.value)}
        />
      </label>
      <button type="submit" className="button" disabled={add.isPending}>
        <Icon name="plus" size={14} />
        {common.add}
      </button>
      <Problem error={add.error} />
    </form>
  )
}

/** Asks before it adds an agent from a link, because a link can name any address. */
function UnknownAgent({ agent }: { readonly agent: string }): ReactNode {
  const { agents: labels, common } = useText()
  const add = useAddAgent()
  return (
    <div className="panel">
      <Notice title={labels.unknown} text={labels.unknownText(agent)}>
        <button type="button" className="button is-main" onClick={() => add.mutate(agent)}>
          {common.add}
        </button>
        <Problem error={add.error} />
      </Notice>
    </div>
  )
}
