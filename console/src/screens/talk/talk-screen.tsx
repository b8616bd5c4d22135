import { type ReactNode, useEffect } from 'react'
import { AgentPicker } from '../../components/agent-picker.js'
import { Notice } from '../../components/notice.js'
import { useSignal } from '../../model/signal.js'
import { replaceRoute, useRoute } from '../../route.js'
import { useConsole, useSession } from '../../server/console-context.js'
import { useText } from '../../text/text.js'
import { ConversationColumn } from './conversation-column.js'
import { ConversationStarters } from './conversation-starters.js'

export default function TalkScreen(): ReactNode {
  const { talk } = useText()
  const { conversations } = useConsole()
  const { query } = useRoute()
  const session = useSession()
  useSignal(conversations.signal)
  const [wanted, say, task] = ['with', 'say', 'task'].map((name) => query.get(name) ?? undefined)
  const isKnown = session.data?.agents.some(({ ref }) => ref === wanted) === true
  useEffect(() => {
    if (wanted === undefined || !isKnown) return
    // A link opens a conversation once; afterwards it shows the existing one.
    const open = conversations
      .list()
      .find(({ ref, entries }) => ref === wanted && (!say || entries.length === 0) && !task)
    const conversation = open ?? conversations.begin(wanted)
    if (task !== undefined) void conversation.resume(task)
    replaceRoute(['talk'], { say })
  }, [wanted, isKnown, say, task, conversations])
  const list = conversations.list()
  return (
    <div className="screen is-full">
      <div className="banner-row row">
        <h1>{talk.title}</h1>
        <span className="grow" />
        <AgentPicker chosen={undefined} label={talk.newConversation} onChoose={(ref) => conversations.begin(ref)} />
      </div>
      {wanted !== undefined && !isKnown && <UnknownHint agent={wanted} />}
      {list.length === 0 ? (
        <ConversationStarters />
      ) : (
        <div className="columns">
          {list.map((conversation, place) => (
            <ConversationColumn
              key={conversation.id}
              conversation={conversation}
              draft={place === list.length - 1 ? say : undefined}
            />
          ))}
        </div>
      )}
    </div>
  )
}

function UnknownHint({ agent }: { readonly agent: string }): ReactNode {
  const { agents } = useText()
  return <Notice isBad title={agents.unknown} text={agents.unknownText(agent)} />
}
