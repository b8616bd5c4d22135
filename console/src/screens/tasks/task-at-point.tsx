import type { ReactNode } from 'react'
import type { TaskView } from '../../model/task-view.js'
import { PartsView } from '../../parts/parts-view.js'
import { StateBadge } from '../../parts/state-badge.js'
import { useText } from '../../text/text.js'
import { ArtifactBox } from '../talk/task-answer.js'

interface PointProps {
  readonly view: TaskView
  /** Tasks grow in place: a new version is a new look at the same one. */
  readonly version: number
}

export function TaskAtPoint({ view, version }: PointProps): ReactNode {
  const { tasks: words, talk, common } = useText()
  const { message } = view.status ?? {}
  return (
    <div className="stack">
      <dl className="facts">
        <dt>{words.state}</dt>
        <dd>
          <StateBadge state={view.state} />
        </dd>
        <dt>{words.context}</dt>
        <dd className="mono break">{view.contextId}</dd>
      </dl>
      {message && <PartsView parts={message.parts} />}
      {[...view.artifacts.values()].map((artifact) => (
        <ArtifactBox key={artifact.id} artifact={artifact} isLive version={version} />
      ))}
      {view.history.length > 0 && (
        <details>
          <summary className="soft">
            {words.history} ({view.history.length})
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
