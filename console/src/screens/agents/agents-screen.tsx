import type { NamedAgent } from 'dragoman/console'
import { type FormEvent, type ReactNode, useState } from 'react'
import { useCard, useSession } from '../../link/link.js'
import { Icon } from '../../parts/icon.js'
import { Notice } from '../../parts/notice.js'
import { hrefTo, useRoute } from '../../route.js'
import { useText } from '../../text/text.js'
import { AgentPage } from './agent-page.js'
import { RegistryAgents } from './registry-agents.js'
import { useAddAgent } from './use-add-agent.js'

export function AgentsScreen(): ReactNode {
  const { agents: words, common } = useText()
  const { path } = useRoute()
  const session = useSession()
  const agents = session.data?.agents ?? []
  const ref = path[1]
  return (
    <div className="screen">
      <div className="screen-head">
        <h1>{words.title}</h1>
        <AddAgent />
        <p>{words.lead}</p>
      </div>
      {agents.length === 0 && ref === undefined && session.data?.registry === undefined ? (
        <div className="panel">
          <Notice title={words.empty} text={words.emptyText} />
        </div>
      ) : (
        <div className="split">
          <nav className="panel" aria-label={words.title}>
            <ul className="agent-list">
              {agents.map((agent) => (
                <AgentRow key={agent.ref} agent={agent} isChosen={agent.ref === ref} />
              ))}
            </ul>
            {session.data?.registry !== undefined && <RegistryAgents named={agents} />}
          </nav>
          {ref === undefined ? (
            <div className="panel">
              <Notice title={common.chooseAgent} />
            </div>
          ) : agents.some((agent) => agent.ref === ref) ? (
            <AgentPage key={ref} agent={ref} />
          ) : (
            <UnknownAgent agent={ref} />
          )}
        </div>
      )}
    </div>
  )
}

function AgentRow({ agent, isChosen }: { readonly agent: NamedAgent; readonly isChosen: boolean }): ReactNode {
  const { agents: words } = useText()
  const card = useCard(agent.ref)
  const tone = card.isPending ? '' : card.data ? (card.data.choices.length > 0 ? 'good' : 'warn') : 'bad'
  return (
    <li>
      <a href={hrefTo(['agents', agent.ref])} aria-current={isChosen ? 'true' : undefined}>
        <span className="row">
          <strong className="grow clip">{card.data?.card.name ?? agent.ref}</strong>
          <span className={`badge ${tone}`}>
            <span className={`dot${card.isPending ? ' pulse' : ''}`} />
            {card.isPending ? words.notChecked : card.data ? words.good : words.bad}
          </span>
        </span>
        <span className="small soft clip mono">{agent.ref}</span>
        <span className="small soft">{words.from[agent.from]}</span>
      </a>
    </li>
  )
}

function AddAgent(): ReactNode {
  const { agents: words, common } = useText()
  const [typed, setTyped] = useState('')
  const add = useAddAgent()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (typed.trim() !== '') add.mutate(typed.trim(), { onSuccess: () => setTyped('') })
  }
  return (
    <form className="row grow" onSubmit={submit}>
      <label className="grow">
        <span className="hidden-text">{words.addLabel}</span>
        <input
          className="input"
          placeholder={words.placeholder}
          value={typed}
          spellCheck={false}
          autoCapitalize="off"
          onChange={({ target }) => setTyped(target.value)}
        />
      </label>
      <button type="submit" className="button is-main" disabled={add.isPending}>
        <Icon name="plus" size={14} />
        {common.add}
      </button>
      {add.error && (
        <span className="problem-text" role="alert">
          {add.error.message}
        </span>
      )}
    </form>
  )
}

/** A link from elsewhere may name any address: nobody is called because somebody clicked. */
function UnknownAgent({ agent }: { readonly agent: string }): ReactNode {
  const { agents: words, common } = useText()
  const add = useAddAgent()
  return (
    <div className="panel">
      <Notice title={words.unknown} text={words.unknownText(agent)}>
        <button type="button" className="button is-main" onClick={() => add.mutate(agent)}>
          {common.add}
        </button>
        {add.error && <span className="problem-text">{add.error.message}</span>}
      </Notice>
    </div>
  )
}
