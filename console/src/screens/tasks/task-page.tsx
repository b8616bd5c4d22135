import { useQuery } from '@tanstack/react-query'
import { isTerminal } from 'dragoman/client'
import type { InboxDelivery } from 'dragoman/console'
import { type ReactNode, useMemo } from 'react'
import { CopyButton } from '../../components/copy-button.js'
import { JsonTree } from '../../components/json-tree.js'
import { Failure, Loading, Notice } from '../../components/notice.js'
import { PartsView } from '../../components/parts-view.js'
import { StateBadge } from '../../components/state-badge.js'
import { Tabs } from '../../components/tabs.js'
import { Time } from '../../components/time.js'
import { useSignal } from '../../model/signal.js'
import { idOfEvent, placeOfEvent, type TaskView, taskAfter } from '../../model/task-view.js'
import { hrefTo, replaceRoute, useRoute } from '../../route.js'
import { api } from '../../server/api.js'
import { useConsole } from '../../server/console-context.js'
import { useText } from '../../text/text.js'
import { ArtifactBox } from '../talk/task-answer.js'
import { CallList } from '../wire/call-list.js'
import { Timeline } from './timeline.js'
import { useTaskLog } from './use-task-log.js'

export function TaskPage({ agent, taskId }: { readonly agent: string; readonly taskId: string }): ReactNode {
  const { tasks: labels } = useText()
  const context = useConsole()
  const { query } = useRoute()
  const log = useTaskLog(agent, taskId)
  useSignal(log.signal)
  const { view, error, isFollowing } = log
  const tabs = { now: labels.taskAtPoint, event: labels.event, wire: labels.wire, deliveries: labels.deliveries }
  const asked = query.get('tab') ?? ''
  const tab = asked in tabs ? (asked as keyof typeof tabs) : 'now'
  const count = view.events.length
  const at = query.get('event')
  // Without a chosen position, the newest event is shown.
  const point = at === null ? count : placeOfEvent(view.events, Number(at))
  const place = (point: number | undefined, next = tab) =>
    replaceRoute(['tasks', agent, taskId], {
      event: point === undefined ? undefined : String(idOfEvent(view.events, point)),
      tab: next === 'now' ? undefined : next,
    })
  const cancel = async () => {
    const client = await context.client(agent)
    await client.cancelTask({ id: taskId }).catch(() => undefined) // the log shows the outcome
  }
  return (
    <div className="screen">
      <div className="screen-head">
        <h1 className="clip">
          <a href={hrefTo(['tasks', agent])}>{labels.title}</a> / <span className="mono">{taskId}</span>
        </h1>
        <CopyButton text={taskId} />
        <StateBadge state={view.state} />
        {isFollowing && view.state !== undefined && !isTerminal(view.state) && (
          <span className="badge">{labels.following}</span>
        )}
        <span className="grow" />
        <a className="button" href={hrefTo(['talk'], { with: agent, task: taskId })}>
          {labels.continue}
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
              label={labels.id}
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
      {talk.cancelTask}
    </button>
  )
}

interface AtPointProps {
  readonly log: ReturnType<typeof useTaskLog>
  readonly point: number
  readonly isLatest: boolean
}

/** The task at a position of its log, rebuilt from the first event. */
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

interface PointProps {
  readonly view: TaskView
  /** Forces a new render, because the task view is mutable. */
  readonly version: number
}

function TaskAtPoint({ view, version }: PointProps): ReactNode {
  const { tasks: labels, talk, common } = useText()
  const { message } = view.status ?? {}
  return (
    <div className="stack">
      <dl className="facts">
        <dt>{labels.state}</dt>
        <dd>
          <StateBadge state={view.state} />
        </dd>
        <dt>{labels.context}</dt>
        <dd className="mono break">{view.contextId}</dd>
      </dl>
      {message && <PartsView parts={message.parts} />}
      {[...view.artifacts.values()].map((artifact) => (
        <ArtifactBox key={artifact.id} artifact={artifact} isLive version={version} />
      ))}
      {view.history.length > 0 && (
        <details>
          <summary className="soft">
            {labels.history} ({view.history.length})
          </summary>
          <ul className="stack">
            {view.history.map((each) => (
              <li key={each.messageId} className="stack">
                <span className="badge">{each.role === 'ROLE_USER' ? talk.you : common.agent}</span>
                <PartsView parts={each.parts} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}
