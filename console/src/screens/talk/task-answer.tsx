import { isTerminal, schemaOf } from 'dragoman/client'
import { type ReactNode, useDeferredValue } from 'react'
import { shortId } from '../../components/format.js'
import { PartsView, PartView, TextBlock } from '../../components/parts-view.js'
import { SchemaForm } from '../../components/schema-form.js'
import { StateBadge } from '../../components/state-badge.js'
import type { Conversation } from '../../model/conversations.js'
import { useSignal } from '../../model/signal.js'
import type { ArtifactView, TaskView } from '../../model/task-view.js'
import { hrefTo } from '../../route.js'
import { useText } from '../../text/text.js'

interface AnswerProps {
  readonly view: TaskView
  readonly conversation: Conversation
}

/** The live output of a task in a conversation. */
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
            {talk.wire}
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
  /** Forces a new render, because artifacts are mutable. */
  readonly version: number
}

export function ArtifactBox({ artifact, isLive }: ArtifactProps): ReactNode {
  const { talk } = useText()
  // Typing has priority over streamed text.
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
      <strong>{view.state === 'TASK_STATE_AUTH_REQUIRED' ? talk.authQuestion : talk.question}</strong>
      {message && <PartsView parts={message.parts} />}
      {schema && <SchemaForm schema={schema} onAnswer={(parts) => void conversation.say(parts)} />}
    </div>
  )
}
