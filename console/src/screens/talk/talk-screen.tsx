import { type ReactNode, useEffect } from 'react'
import { useLink, useSession } from '../../link/link.js'
import { useSignal } from '../../model/signal.js'
import { AgentPicker } from '../../parts/agent-picker.js'
import { Notice } from '../../parts/notice.js'
import { restate, useRoute } from '../../route.js'
import { useText } from '../../text/text.js'
import { ConversationColumn } from './conversation-column.js'
import { FirstWords } from './first-words.js'

export default function TalkScreen(): ReactNode {
  const { talk } = useText()
  const { conversations } = useLink()
  const { query } = useRoute()
  const session = useSession()
  useSignal(conversations.signal)
  const [wanted, say, task] = ['with', 'say', 'task'].map((name) => query.get(name) ?? undefined)
  const isKnown = session.data?.agents.some(({ ref }) => ref === wanted) === true
  useEffect(() => {
    if (wanted === undefined || !isKnown) return
    // A link opens a conversation once: going back to it finds the one that is there.
    const open = conversations
      .list()
      .find(({ ref, entries }) => ref === wanted && (!say || entries.length === 0) && !task)
    const conversation = open ?? conversations.begin(wanted)
    if (task !== undefined) void conversation.resume(task)
    restate(['talk'], { say })
  }, [wanted, isKnown, say, task, conversations])
  const list = conversations.list()
  return (
    <div className="screen is-full">
      <div className="banner-row row">
        <h1>{talk.title}</h1>
        <span className="grow" />
        <AgentPicker chosen={undefined} label={talk.begin} onChoose={(ref) => conversations.begin(ref)} />
      </div>
      {wanted !== undefined && !isKnown && <UnknownHint agent={wanted} />}
      {list.length === 0 ? (
        <FirstWords />
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
