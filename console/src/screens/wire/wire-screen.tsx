import type { ReactNode } from 'react'
import { useNameOf } from '../../link/agents.js'
import { BackLink } from '../../parts/back-link.js'
import { hrefTo, useRoute } from '../../route.js'
import { useText } from '../../text/text.js'
import { CallList, type CallQuery, useCalls } from './call-list.js'
import { CallPage } from './call-page.js'

export default function WireScreen(): ReactNode {
  const { wire } = useText()
  const { path, query } = useRoute()
  const asked = askedIn(query)
  const calls = useCalls(asked)
  // The newest message is what most people look for.
  const newest = calls.data?.find(({ operation }) => /^send/.test(operation)) ?? calls.data?.[0]
  const chosen = path[1] ?? newest?.id
  return (
    <div className="screen">
      <div className="screen-head">
        <h1>{wire.title}</h1>
        <p>{wire.lead}</p>
        <Filters query={asked} />
      </div>
      <div className={`split${path[1] === undefined ? '' : ' is-chosen'}`}>
        <nav className="panel" aria-label={wire.title}>
          <CallList query={asked} chosen={chosen} />
        </nav>
        {chosen !== undefined && (
          <div className={`stack${path[1] === undefined ? ' is-aside' : ''}`}>
            <BackLink to={['wire']} query={{ ...asked }} />
            <CallPage key={chosen} id={chosen} />
          </div>
        )}
      </div>
    </div>
  )
}

/** What the list is narrowed to, and a way out of it. */
function Filters({ query: { ref, task, context } }: { readonly query: CallQuery }): ReactNode {
  const { wire, tasks, common } = useText()
  const nameOf = useNameOf()
  if (ref === undefined && task === undefined && context === undefined) return null
  return (
    <div className="row">
      {ref !== undefined && (
        <span className="badge accent">
          {common.agent}: {nameOf(ref)}
        </span>
      )}
      {task !== undefined && (
        <span className="badge accent">
          {tasks.id}: {task.slice(0, 8)}
        </span>
      )}
      {context !== undefined && (
        <span className="badge accent">
          {tasks.context}: {context.slice(0, 8)}
        </span>
      )}
      <a className="button is-small" href={hrefTo(['wire'])}>
        {wire.showAll}
      </a>
    </div>
  )
}

function askedIn(query: URLSearchParams): CallQuery {
  return Object.fromEntries(
    ['ref', 'task', 'context'].flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])),
  )
}
