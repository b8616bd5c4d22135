import type { ReactNode } from 'react'
import { examplesOf, useAgents } from '../../link/agents.js'
import { useLink } from '../../link/link.js'
import { Loading, Notice } from '../../parts/notice.js'
import { hrefTo } from '../../route.js'
import { useLanguage, useText } from '../../text/text.js'

const mostAgents = 12
const mostExamples = 3

/** Before anybody has said anything: who is there, and what each of them likes to hear. */
export function FirstWords(): ReactNode {
  const { talk, agents: words } = useText()
  const { language } = useLanguage()
  const { conversations } = useLink()
  const agents = useAgents()
  const usable = agents.filter(({ view }) => view && view.choices.length > 0)
  if (usable.length === 0 && agents.some(({ isPending }) => isPending)) return <Loading />
  if (usable.length === 0)
    return (
      <Notice title={talk.nobody} text={talk.nobodyText}>
        <a className="button is-main" href={hrefTo(['agents'])}>
          {words.title}
        </a>
      </Notice>
    )
  return (
    <section className="first-words" aria-label={words.title}>
      <p className="soft">{talk.emptyText}</p>
      <ul>
        {usable.slice(0, mostAgents).map(({ ref, name, view }) => (
          <li key={ref} className="panel">
            <div className="row is-one-line">
              <strong className="grow clip">{name}</strong>
              <button type="button" className="button is-small" onClick={() => conversations.begin(ref)}>
                {talk.beginHere}
              </button>
            </div>
            <p className="soft small">{view?.card.description}</p>
            <div className="row">
              {view &&
                examplesOf(view.card, language)
                  .slice(0, mostExamples)
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
