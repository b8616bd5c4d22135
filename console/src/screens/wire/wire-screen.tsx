import type { ReactNode } from 'react'
import { Notice } from '../../parts/notice.js'
import { useRoute } from '../../route.js'
import { useText } from '../../text/text.js'
import { CallList } from './call-list.js'
import { CallPage } from './call-page.js'

export default function WireScreen(): ReactNode {
  const { wire } = useText()
  const { path, query } = useRoute()
  const task = query.get('task') ?? undefined
  const chosen = path[1]
  return (
    <div className="screen">
      <div className="screen-head">
        <h1>{wire.title}</h1>
        <p>{wire.lead}</p>
      </div>
      <div className="split">
        <nav className="panel" aria-label={wire.title}>
          <CallList query={task === undefined ? {} : { task }} chosen={chosen} />
        </nav>
        {chosen === undefined ? (
          <div className="panel">
            <Notice title={wire.operation} text={wire.lead} />
          </div>
        ) : (
          <CallPage key={chosen} id={chosen} />
        )}
      </div>
    </div>
  )
}
