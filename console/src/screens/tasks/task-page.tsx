import { useQuery } from '@tanstack/react-query'
import { isTerminal } from 'dragoman/client'
import type { InboxDelivery } from 'dragoman/console'
import { type ReactNode, useMemo } from 'react'
import { api } from '../../link/api.js'
import { useLink } from '../../link/link.js'
import { useSignal } from '../../model/signal.js'
import { idOfEvent, placeOfEvent, taskAfter } from '../../model/task-view.js'
import { CopyButton } from '../../parts/copy-button.js'
import { JsonTree } from '../../parts/json-tree.js'
import { Failure, Loading, Notice } from '../../parts/notice.js'
import { StateBadge } from '../../parts/state-badge.js'
import { Tabs } from '../../parts/tabs.js'
import { Time } from '../../parts/time.js'
import { hrefTo, restate, useRoute } from '../../route.js'
import { useText } from '../../text/text.js'
import { CallList } from '../wire/call-list.js'
import { TaskAtPoint } from './task-at-point.js'
import { Timeline } from './timeline.js'
import { useTaskLog } from './use-task-log.js'

export function TaskPage({ agent, taskId }: { readonly agent: string; readonly taskId: string }): ReactNode {
  const { tasks: words } = useText()
  const link = useLink()
  const { query } = useRoute()
  const log = useTaskLog(agent, taskId)
  useSignal(log.signal)
  const { view, error, isFollowing } = log
  const tabs = { now: words.now, event: words.event, wire: words.wire, deliveries: words.deliveries }
  const asked = query.get('tab') ?? ''
  const tab = asked in tabs ? (asked as keyof typeof tabs) : 'now'
  const count = view.events.length
  const at = query.get('event')
  // Until somebody chooses a point, the newest is shown.
  const point = at === null ? count : placeOfEvent(view.events, Number(at))
  const place = (point: number | undefined, next = tab) =>
    restate(['tasks', agent, taskId], {
      event: point === undefined ? undefined : String(idOfEvent(view.events, point)),
      tab: next === 'now' ? undefined : next,
    })
  const cancel = async () => {
    const client = await link.client(agent)
    await client.cancelTask({ id: taskId }).catch(() => undefined) // the log tells how it went
  }
  return (
    <div className="screen">
      <div className="screen-head">
        <h1 className="clip">
          <a href={hrefTo(['tasks', agent])}>{words.title}</a> / <span className="mono">{taskId}</span>
        </h1>
        <CopyButton text={taskId} />
        <StateBadge state={view.state} />
        {isFollowing && view.state !== undefined && !isTerminal(view.state) && (
          <span className="badge">{words.follow}</span>
        )}
        <span className="grow" />
        <a className="button" href={hrefTo(['talk'], { with: agent, task: taskId })}>
          {words.continue}
        </a>
        {view.state !== undefined && !isTerminal(view.state) && <CancelButton onCancel={cancel} />}
      </div>
      {error !== undefined && count === 0 ? (
        <div className="panel">
          <Failure error={error} onRetry={() => log.again()} />
        </div>
      ) : count === 0 ? (
        <Loading />
      ) : (
        <div className="halves">
          <Timeline
            events={view.events}
            version={view.signal.version}
            point={point}
            isLatest={at === null}
            onPoint={place}
          />
          <section className="panel">
            <Tabs
              label={words.id}
              tabs={tabs}
              chosen={tab}
              onChoose={(next) => place(at === null ? undefined : point, next)}
            />
            <div className="body" role="tabpanel" aria-label={tabs[tab]}>
              {tab === 'now' && <AtPoint log={log} point={point} isLatest={at === null} />}
              {tab === 'event' && <JsonTree value={view.events[point - 1]?.event} depth={5} />}
              {tab === 'wire' && <CallList query={{ ref: agent, task: taskId }} chosen={undefined} />}
              {tab === 'deliveries' && <Deliveries taskId={taskId} />}
            </div>
          </section>
        </div>
      )}
    </div>
  )
}

function CancelButton({ onCancel }: { readonly onCancel: () => Promise<void> }): ReactNode {
  const { talk } = useText()
  return (
    <button type="button" className="button is-danger" onClick={() => void onCancel()}>
      {talk.stop}
    </button>
  )
}

interface AtPointProps {
  readonly log: ReturnType<typeof useTaskLog>
  readonly point: number
  readonly isLatest: boolean
}

/** The task as it was: put together anew from the beginning of its log. */
function AtPoint({ log, point, isLatest }: AtPointProps): ReactNode {
  const { view } = log
  const then = useMemo(() => (isLatest ? view : taskAfter(view.events, point)), [view, point, isLatest])
  return <TaskAtPoint view={then} version={view.signal.version} />
}

function Deliveries({ taskId }: { readonly taskId: string }): ReactNode {
  const { push, tasks } = useText()
  const inbox = useQuery({
    queryKey: ['deliveries'],
    queryFn: () => api<{ readonly deliveries: readonly InboxDelivery[] }>('GET', 'deliveries'),
  })
  const found = inbox.data?.deliveries.filter((each) => each.taskId === taskId) ?? []
  if (found.length === 0) return <Notice title={push.empty} text={push.emptyText} />
  return (
    <ul className="stack">
      {found.map((each) => (
        <li key={each.id + each.receivedAt} className="row">
          <Time at={each.receivedAt} />
          <span className="badge accent">{each.dialect}</span>
          <span className="badge">{tasks.kinds[Object.keys(each.event)[0] as keyof typeof tasks.kinds]}</span>
        </li>
      ))}
    </ul>
  )
}
