import { type ReactNode, useEffect, useRef } from 'react'
import { Icon } from '../../components/icon.js'
import { PartsView } from '../../components/parts-view.js'
import type { Conversation, Entry, ProblemEntry } from '../../model/conversations.js'
import { formatProtocol, interfacesOf } from '../../model/dialects.js'
import { useSignal } from '../../model/signal.js'
import { hrefTo } from '../../route.js'
import { examplesOf, useCard } from '../../server/agents.js'
import { type Protocol, useConsole } from '../../server/console-context.js'
import { describeProblem } from '../../text/problems.js'
import { useLanguage, useText } from '../../text/text.js'
import { Composer } from './composer.js'
import { TaskAnswer } from './task-answer.js'

interface ColumnProps {
  readonly conversation: Conversation
  /** Initial text from the URL. */
  readonly draft: string | undefined
}

export function ConversationColumn({ conversation, draft }: ColumnProps): ReactNode {
  const { talk, common } = useText()
  const { language } = useLanguage()
  const { conversations } = useConsole()
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
            title={talk.wire}
          >
            <Icon name="wire" size={14} />
            <span className="where-wide">{talk.wire}</span>
          </a>
        )}
        <InterfacePicker
          agent={conversation.ref}
          protocol={conversation.protocol}
          onChoose={(protocol) => conversation.speak(protocol)}
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
            <p className="soft">{talk.keyboardHint}</p>
            <div className="row">
              {examples.length > 0 && <span className="label">{talk.examples}</span>}
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

/** Scrolls to the end, unless the user has scrolled up. */
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
  const { talk, connection } = useText()
  const { language } = useLanguage()
  const isWaiting = taskId !== undefined && conversation.isWaiting(taskId)
  return (
    <div className="stack" role="alert">
      <p className="problem-text break">{text ? describeProblem(language, code, text) : connection.server}</p>
      {isWaiting && <p className="soft small">{talk.waiting}</p>}
      {taskId !== undefined && (
        <div className="row">
          <button type="button" className="button is-small" onClick={() => void conversation.resume(taskId)}>
            {talk.resume}
          </button>
          {isWaiting && (
            <button type="button" className="button is-small" onClick={() => conversation.giveUp(taskId)}>
              {talk.stopRetrying}
            </button>
          )}
        </div>
      )}
    </div>
  )
}

/** Ids of answers are not unique, because the agent chooses them. */
function keyOf(entry: Entry, place: number): string {
  return entry.kind === 'said' ? entry.message.messageId : `${entry.kind} ${place}`
}

interface PickerProps {
  readonly agent: string
  readonly protocol: Protocol
  onChoose(protocol: Protocol): void
}

/** Chooses dialect and binding: negotiated, one of the card's, or a dialect that is not in the card. */
function InterfacePicker({ agent, protocol, onChoose }: PickerProps): ReactNode {
  const { talk } = useText()
  const card = useCard(agent)
  const interfaces = card.data && interfacesOf(card.data.choices)
  const [best] = card.data?.choices ?? []
  const chosen = protocol.dialect === undefined ? '' : formatProtocol(protocol)
  return (
    <label className="row small soft">
      <span className="hidden-text">{talk.protocol}</span>
      <select
        className="input"
        value={chosen}
        onChange={({ target }) => {
          const [dialect, binding] = target.value.split(' ')
          onChoose(dialect ? { dialect, ...(binding && { binding }) } : {})
        }}
      >
        <option value="">{best ? `${talk.negotiated}: ${best.dialect} ${best.binding}` : talk.negotiated}</option>
        {interfaces ? interfaces.named.map(option) : chosen !== '' && option(protocol)}
        {interfaces && interfaces.unnamed.length > 0 && (
          <optgroup label={talk.notInCard}>{interfaces.unnamed.map(option)}</optgroup>
        )}
      </select>
    </label>
  )
}

function option(protocol: Protocol): ReactNode {
  return (
    <option key={formatProtocol(protocol)} value={formatProtocol(protocol)}>
      {formatProtocol(protocol)}
    </option>
  )
}
