import { isTerminal, schemaOf } from 'dragoman/client'
import { type ReactNode, useDeferredValue } from 'react'
import type { Conversation } from '../../model/conversations.js'
import { useSignal } from '../../model/signal.js'
import type { ArtifactView, TaskView } from '../../model/task-view.js'
import { PartsView, PartView, TextBlock } from '../../parts/parts-view.js'
import { SchemaForm } from '../../parts/schema-form.js'
import { shortId } from '../../parts/short-id.js'
import { StateBadge } from '../../parts/state-badge.js'
import { hrefTo } from '../../route.js'
import { useText } from '../../text/text.js'

interface AnswerProps {
  readonly view: TaskView
  readonly conversation: Conversation
}

/** What a task has to say in a conversation, as it grows. */
export function TaskAnswer({ view, conversation, canAsk }: AnswerProps & { readonly canAsk: boolean }): ReactNode {
  const { talk } = useText()
  useSignal(view.signal)
  const isLive = view.state !== undefined && !isTerminal(view.state)
  const { message } = view.status ?? {}
  const isQuestion = conversation.question === view
  return (
    <div className="heard appears">
      <div className="row">
        <StateBadge state={view.state} />
        {view.id !== '' && canAsk && (
          <a className="small mono clip" href={hrefTo(['tasks', conversation.ref, view.id])}>
            {talk.task} {shortId(view.id)}
          </a>
        )}
        {view.id !== '' && (
          <a className="small" href={hrefTo(['wire'], { task: view.id })}>
            {talk.exchange}
          </a>
        )}
      </div>
      {[...view.artifacts.values()].map((artifact) => (
        <ArtifactBox key={artifact.id} artifact={artifact} isLive={isLive} version={view.signal.version} />
      ))}
      {isQuestion ? (
        <Question view={view} conversation={conversation} />
      ) : (
        message && !conversation.hasHeard(message) && <PartsView parts={message.parts} />
      )}
    </div>
  )
}

interface ArtifactProps {
  readonly artifact: ArtifactView
  readonly isLive: boolean
  /** Artifacts change in place: a new version is a new look at the same one. */
  readonly version: number
}

export function ArtifactBox({ artifact, isLive }: ArtifactProps): ReactNode {
  const { talk } = useText()
  // Typing goes before text that streams in.
  const blocks = useDeferredValue([...artifact.blocks])
  return (
    <figure className="artifact">
      <header>
        <figcaption className="grow clip">{artifact.name || talk.artifact}</figcaption>
        <code>{artifact.id.slice(0, 24)}</code>
      </header>
      <div>
        {blocks.map((block, place) =>
          typeof block === 'string' ? (
            <TextBlock key={`${place}`} text={block} isLive={isLive} />
          ) : (
            <PartView key={`${place}`} part={block} />
          ),
        )}
      </div>
    </figure>
  )
}

function Question({ view, conversation }: AnswerProps): ReactNode {
  const { talk } = useText()
  const message = view.status?.message
  const schema = schemaOf(message)
  return (
    <div className="question">
      <strong>{view.state === 'TASK_STATE_AUTH_REQUIRED' ? talk.asksAuth : talk.asks}</strong>
      {message && <PartsView parts={message.parts} />}
      {schema && <SchemaForm schema={schema} onAnswer={(parts) => void conversation.say(parts)} />}
    </div>
  )
}
