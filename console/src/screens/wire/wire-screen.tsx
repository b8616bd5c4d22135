import type { ReactNode } from 'react'
import { BackLink } from '../../components/back-link.js'
import { shortId } from '../../components/format.js'
import { hrefTo, useRoute } from '../../route.js'
import { useNameOf } from '../../server/agents.js'
import { useText } from '../../text/text.js'
import { CallList, type CallQuery, useCalls } from './call-list.js'
import { CallPage } from './call-page.js'

export default function WireScreen(): ReactNode {
  const { wire } = useText()
  const { path, query } = useRoute()
  const asked = askedIn(query)
  const calls = useCalls(asked)
  // Show the newest message first.
  const newest = calls.data?.find(({ operation }) => /^send/.test(operation)) ?? calls.data?.[0]
  const chosen = path[1] ?? newest?.id
  // In narrow windows a filtered list with one call opens that call.
  const isOnly = path[1] === undefined && calls.data?.length === 1 && Object.keys(asked).length > 0
  const isOpen = path[1] !== undefined || isOnly
  return (
    <div className="screen">
      <div className="screen-head">
        <h1>{wire.title}</h1>
        <p>{wire.lead}</p>
        <Filters query={asked} />
      </div>
      <div className={`split${isOpen ? ' is-chosen' : ''}`}>
        <nav className="panel" aria-label={wire.title}>
          <CallList query={asked} chosen={chosen} />
        </nav>
        {chosen !== undefined && (
          <div className={`stack${isOpen ? '' : ' is-aside'}`}>
            <BackLink to={['wire']} query={isOnly ? {} : { ...asked }} />
            <CallPage key={chosen} id={chosen} />
          </div>
        )}
      </div>
    </div>
  )
}

/** The active filters and a link to remove them. */
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
          {tasks.id}: {shortId(task)}
        </span>
      )}
      {context !== undefined && (
        <span className="badge accent">
          {tasks.context}: {shortId(context)}
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
