import type { ReactNode } from 'react'
import { Loading, Notice } from '../../components/notice.js'
import { hrefTo } from '../../route.js'
import { examplesOf, useAgents } from '../../server/agents.js'
import { useConsole } from '../../server/console-context.js'
import { useLanguage, useText } from '../../text/text.js'

const maxAgents = 12
const maxExamples = 3

/** Shows agents with examples while there is no conversation. */
export function ConversationStarters(): ReactNode {
  const { talk, agents: labels } = useText()
  const { language } = useLanguage()
  const { conversations } = useConsole()
  const agents = useAgents()
  const usable = agents.filter(({ view }) => view && view.choices.length > 0)
  if (usable.length === 0 && agents.some(({ isPending }) => isPending)) return <Loading />
  if (usable.length === 0)
    return (
      <Notice title={talk.noAgents} text={talk.noAgentsText}>
        <a className="button is-main" href={hrefTo(['agents'])}>
          {labels.title}
        </a>
      </Notice>
    )
  return (
    <section className="first-words" aria-label={labels.title}>
      <p className="soft">{talk.startersText}</p>
      <ul>
        {usable.slice(0, maxAgents).map(({ ref, name, view }) => (
          <li key={ref} className="panel">
            <div className="row is-one-line">
              <strong className="grow clip">{name}</strong>
              <button type="button" className="button is-small" onClick={() => conversations.begin(ref)}>
                {talk.start}
              </button>
            </div>
            <p className="soft small">{view?.card.description}</p>
            <div className="row">
              {view &&
                examplesOf(view.card, language)
                  .slice(0, maxExamples)
                  .map((example) => (
                    <button
                      key={example}
                      type="button"
                      className="button is-small is-example"
                      onClick={() => void conversations.begin(ref).say([{ text: example }])}
                    >
                      {example}
                    </button>
                  ))}
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}
