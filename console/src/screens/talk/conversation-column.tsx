import { type ReactNode, useEffect, useRef } from 'react'
import { examplesOf, useCard } from '../../link/agents.js'
import { useLink } from '../../link/link.js'
import type { Conversation, Entry, ProblemEntry } from '../../model/conversations.js'
import { useSignal } from '../../model/signal.js'
import { Icon } from '../../parts/icon.js'
import { PartsView } from '../../parts/parts-view.js'
import { WayPicker } from '../../parts/way-picker.js'
import { hrefTo } from '../../route.js'
import { tellProblem } from '../../text/problems.js'
import { useLanguage, useText } from '../../text/text.js'
import { Composer } from './composer.js'
import { TaskAnswer } from './task-answer.js'

interface ColumnProps {
  readonly conversation: Conversation
  /** Typed for the user by the link that led here. */
  readonly draft: string | undefined
}

export function ConversationColumn({ conversation, draft }: ColumnProps): ReactNode {
  const { talk, common } = useText()
  const { language } = useLanguage()
  const { conversations } = useLink()
  useSignal(conversation.signal)
  const card = useCard(conversation.ref)
  const name = card.data?.card.name ?? conversation.ref
  const negotiated = card.data?.choices[0]?.dialect
  useEffect(() => {
    if (negotiated !== undefined) conversation.negotiate(negotiated)
  }, [conversation, negotiated])
  const examples = card.data ? examplesOf(card.data.card, language).slice(0, 6) : []
  return (
    <section className="talk" aria-label={name}>
      <header>
        <a className="talk-name clip" href={hrefTo(['agents', conversation.ref])} title={conversation.ref}>
          <strong>{name}</strong>
        </a>
        {conversation.entries.length > 0 && (
          <a
            className="button is-quiet is-small"
            href={hrefTo(['wire'], { ref: conversation.ref, context: conversation.contextId })}
            title={talk.exchange}
          >
            <Icon name="wire" size={14} />
            <span className="where-wide">{talk.exchange}</span>
          </a>
        )}
        <WayPicker
          agent={conversation.ref}
          speech={conversation.speech}
          onChoose={(speech) => conversation.speak(speech)}
        />
        <button
          type="button"
          className="button is-quiet is-small"
          aria-label={`${common.close} ${name}`}
          onClick={() => conversations.close(conversation.id)}
        >
          <Icon name="close" size={14} />
        </button>
      </header>
      <Transcript conversation={conversation}>
        {conversation.entries.length === 0 && (
          <div className="stack">
            {card.data && <p>{card.data.card.description}</p>}
            <p className="soft">{talk.nothing}</p>
            <div className="row">
              {examples.length > 0 && <span className="label">{talk.try}</span>}
              {examples.map((example) => (
                <button
                  key={example}
                  type="button"
                  className="button is-small is-example"
                  onClick={() => void conversation.say([{ text: example }])}
                >
                  {example}
                </button>
              ))}
            </div>
          </div>
        )}
        {conversation.entries.map((entry, place) => (
          <EntryView key={keyOf(entry, place)} entry={entry} conversation={conversation} />
        ))}
      </Transcript>
      <Composer conversation={conversation} draft={draft} />
    </section>
  )
}

/** Follows the end, unless somebody has scrolled up to read. */
function Transcript({ conversation, children }: { readonly conversation: Conversation; readonly children: ReactNode }) {
  const { talk } = useText()
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const count = conversation.entries.length
  useEffect(() => {
    const element = box.current
    if (!element || count < 0) return
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) element.scrollTop = element.scrollHeight
    })
    for (const child of element.children) observer.observe(child)
    if (isAtEnd.current) element.scrollTop = element.scrollHeight
    return () => observer.disconnect()
  }, [count])
  return (
    <div
      ref={box}
      className="transcript"
      role="log"
      aria-label={talk.title}
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 60
      }}
    >
      {children}
    </div>
  )
}

function EntryView({ entry, conversation }: { readonly entry: Entry; readonly conversation: Conversation }): ReactNode {
  const { talk } = useText()
  if (entry.kind === 'said')
    return (
      <div className="said appears">
        <span className="hidden-text">{talk.you}</span>
        <div>
          <PartsView parts={entry.message.parts} />
        </div>
      </div>
    )
  if (entry.kind === 'answer')
    return (
      <div className="heard appears">
        <PartsView parts={entry.message.parts} />
      </div>
    )
  if (entry.kind === 'task')
    return <TaskAnswer view={entry.view} conversation={conversation} canAsk={conversation.canAsk(entry)} />
  return <Problem conversation={conversation} problem={entry} />
}

interface ProblemProps {
  readonly conversation: Conversation
  readonly problem: ProblemEntry
}

function Problem({ conversation, problem: { text, code, taskId } }: ProblemProps): ReactNode {
  const { talk, lost } = useText()
  const { language } = useLanguage()
  const isWaiting = taskId !== undefined && conversation.isWaiting(taskId)
  return (
    <div className="stack" role="alert">
      <p className="problem-text break">{text ? tellProblem(language, code, text) : lost.server}</p>
      {isWaiting && <p className="soft small">{talk.waiting}</p>}
      {taskId !== undefined && (
        <div className="row">
          <button type="button" className="button is-small" onClick={() => void conversation.resume(taskId)}>
            {talk.resume}
          </button>
          {isWaiting && (
            <button type="button" className="button is-small" onClick={() => conversation.giveUp(taskId)}>
              {talk.giveUp}
            </button>
          )}
        </div>
      )}
    </div>
  )
}

/** Ids of answers are the agent's: it may use one twice. */
function keyOf(entry: Entry, place: number): string {
  return entry.kind === 'said' ? entry.message.messageId : `${entry.kind} ${place}`
}
