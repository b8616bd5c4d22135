import type { ReactNode } from 'react'
import { PartsView } from '../../components/parts-view.js'
import { StateBadge } from '../../components/state-badge.js'
import type { TaskView } from '../../model/task-view.js'
import { useText } from '../../text/text.js'
import { ArtifactBox } from '../talk/task-answer.js'

interface PointProps {
  readonly view: TaskView
  /** Forces a new render, because the task view is mutable. */
  readonly version: number
}

export function TaskAtPoint({ view, version }: PointProps): ReactNode {
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
