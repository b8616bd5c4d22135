import { type ReactNode, useState } from 'react'
import { AgentPicker } from '../../components/agent-picker.js'
import { CopyButton } from '../../components/copy-button.js'
import { useDefaultAgent } from '../../server/agents.js'
import { useSession } from '../../server/console-context.js'
import { useText } from '../../text/text.js'
import { DeadLetters } from './dead-letters.js'
import { Inbox } from './inbox.js'
import { Webhooks } from './webhooks.js'

export default function PushScreen(): ReactNode {
  const { push } = useText()
  const session = useSession()
  const [chosen, setChosen] = useState<string>()
  const first = useDefaultAgent()
  const ref = chosen ?? first
  return (
    <div className="screen">
      <div className="screen-head">
        <h1>{push.title}</h1>
        <AgentPicker chosen={ref} onChoose={setChosen} />
        <p>{push.lead}</p>
      </div>
      <div className="row small">
        <span className="soft">{push.receiver}</span>
        <code className="break">{session.data?.receiver}</code>
        <CopyButton text={session.data?.receiver ?? ''} />
      </div>
      <div className="halves">
        <div className="stack">
          {ref !== undefined && session.data && <Webhooks key={ref} agent={ref} receiver={session.data.receiver} />}
          {session.data?.hasDeadLetters && <DeadLetters />}
        </div>
        <Inbox />
      </div>
    </div>
  )
}
