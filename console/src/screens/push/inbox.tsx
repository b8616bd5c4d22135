import { useQuery } from '@tanstack/react-query'
import type { InboxDelivery } from 'dragoman/console'
import { type ReactNode, useState } from 'react'
import { Code } from '../../components/code.js'
import { shortId } from '../../components/format.js'
import { Failure, Loading, Notice } from '../../components/notice.js'
import { StateBadge } from '../../components/state-badge.js'
import { Time } from '../../components/time.js'
import { api } from '../../server/api.js'
import { useText } from '../../text/text.js'
import { formatBody } from '../wire/call-page.js'

export function Inbox(): ReactNode {
  const { push } = useText()
  const inbox = useQuery({
    queryKey: ['deliveries'],
    queryFn: () => api<{ readonly deliveries: readonly InboxDelivery[] }>('GET', 'deliveries'),
  })
  return (
    <section className="panel" aria-label={push.deliveries}>
      <header>
        <h2 className="grow">{push.deliveries}</h2>
        <span className="badge" aria-live="polite">
          {inbox.data?.deliveries.length ?? 0}
        </span>
      </header>
      {inbox.isPending ? (
        <Loading />
      ) : inbox.error ? (
        <Failure error={inbox.error} onRetry={() => void inbox.refetch()} />
      ) : inbox.data.deliveries.length === 0 ? (
        <Notice title={push.empty} text={push.emptyText} />
      ) : (
        <ul>
          {inbox.data.deliveries.map((delivery) => (
            <DeliveryRow key={`${delivery.id} ${delivery.receivedAt}`} delivery={delivery} />
          ))}
        </ul>
      )}
    </section>
  )
}

function DeliveryRow({ delivery }: { readonly delivery: InboxDelivery }): ReactNode {
  const { tasks, wire } = useText()
  const [isOpen, setOpen] = useState(false)
  const { event, dialect, taskId, receivedAt, headers, body } = delivery
  const kind = Object.keys(event)[0] as keyof typeof tasks.kinds // an event has exactly one member
  const state =
    'statusUpdate' in event ? event.statusUpdate.status.state : 'task' in event ? event.task.status.state : undefined
  return (
    <li className="wire-line">
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          <span className="badge accent">{dialect}</span> <span className="badge">{tasks.kinds[kind]}</span>{' '}
          <StateBadge state={state} /> <span className="mono small soft">{shortId(taskId)}</span>{' '}
          <span className="small faint">
            <Time at={receivedAt} />
          </span>
        </summary>
        {isOpen && (
          <div className="stack">
            <dl className="facts mono break">
              {Object.entries(headers).map(([name, value]) => (
                <div key={name} className="header-line">
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
            <Code label={wire.request} text={formatBody(body)} />
          </div>
        )}
      </details>
    </li>
  )
}
