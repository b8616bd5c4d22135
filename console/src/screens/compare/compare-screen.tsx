import { type FormEvent, type ReactNode, useState } from 'react'
import { useCard, useDefaultAgent } from '../../link/agents.js'
import { type Speech, useLink, useSession } from '../../link/link.js'
import { spellWay, waysOf } from '../../model/dialects.js'
import { problemCode } from '../../model/problem-code.js'
import { AgentPicker } from '../../parts/agent-picker.js'
import { Loading, Notice } from '../../parts/notice.js'
import { go, useRoute } from '../../route.js'
import { tellProblem } from '../../text/problems.js'
import { useLanguage, useText } from '../../text/text.js'
import { CompareColumn } from './compare-column.js'

/** One way to say it: what it is called, and the name of the call once it was made. */
export interface Attempt {
  readonly speech: Speech
  readonly callId?: string | undefined
  readonly error?: string | undefined
  readonly isRunning: boolean
}

export default function CompareScreen(): ReactNode {
  const { compare, common, agents, push } = useText()
  const { language } = useLanguage()
  const { path } = useRoute()
  const link = useLink()
  const session = useSession()
  const first = useDefaultAgent()
  const asked = path[1] ?? first
  const ref = session.data?.agents.find((agent) => agent.ref === asked)?.ref
  const card = useCard(ref)
  const [typed, setTyped] = useState<string>()
  const said = typed ?? push.hello
  const [isStream, setStream] = useState(false)
  const [attempts, setAttempts] = useState<readonly Attempt[]>([])
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const { named, unnamed } = waysOf(card.data?.choices ?? [])
  // What the card names is chosen, the rest is not, until somebody says otherwise.
  const isChosen = (way: Speech) => named.includes(way) !== toggled.has(spellWay(way))
  const ways = [...named, ...unnamed].filter(isChosen)
  const toggle = (way: Speech) => setToggled(toggledWith(toggled, spellWay(way)))

  const send = async (event: FormEvent) => {
    event.preventDefault()
    if (ref === undefined || said.trim() === '') return
    setAttempts(ways.map((speech) => ({ speech, isRunning: true })))
    const settle = (speech: Speech, outcome: Partial<Attempt>) =>
      setAttempts((before) => before.map((each) => (each.speech === speech ? { ...each, ...outcome } : each)))
    await Promise.all(
      ways.map(async (speech) => {
        let callId: string | undefined
        const outcome = await call(speech, (id) => {
          callId = id
        }).catch((error: unknown) =>
          tellProblem(language, problemCode(error), error instanceof Error ? error.message : String(error)),
        )
        settle(speech, { isRunning: false, callId, error: outcome })
      }),
    )
  }
  const call = async (speech: Speech, onCall: (id: string) => void): Promise<undefined> => {
    const client = await link.connect(ref ?? '', speech, onCall)
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER' as const, parts: [{ text: said }] }
    if (!isStream) await client.sendMessage({ message })
    else for await (const _ of client.sendStreamingMessage({ message }));
    return undefined
  }
  return (
    <div className="screen">
      <div className="screen-head">
        <h1>{compare.title}</h1>
        <AgentPicker
          chosen={ref}
          onChoose={(chosen) => {
            setAttempts([])
            setToggled(new Set())
            go(['compare', chosen])
          }}
        />
        <p>{compare.lead}</p>
      </div>
      {ref === undefined ? (
        session.data?.agents.length === 0 ? (
          <Notice title={agents.empty} text={agents.emptyText} />
        ) : asked === undefined ? (
          <Loading />
        ) : (
          <Notice isBad title={agents.unknown} text={agents.unknownText(asked)} />
        )
      ) : (
        <>
          <form className="row" onSubmit={(event) => void send(event)}>
            <label className="grow">
              <span className="hidden-text">{common.send}</span>
              <input className="input" value={said} onChange={({ target }) => setTyped(target.value)} />
            </label>
            <label className="check">
              <input type="checkbox" checked={isStream} onChange={({ target }) => setStream(target.checked)} />
              {compare.streaming}
            </label>
            <button type="submit" className="button is-main" disabled={card.isPending || ways.length === 0}>
              {compare.run}
            </button>
            <fieldset className="row chips">
              <legend className="hidden-text">{compare.ways}</legend>
              {[...named, ...unnamed].map((way) => (
                <label key={spellWay(way)} className="check small">
                  <input type="checkbox" checked={isChosen(way)} onChange={() => toggle(way)} />
                  {spellWay(way)}
                </label>
              ))}
            </fieldset>
          </form>
          {card.isPending ? (
            <Loading />
          ) : attempts.length === 0 ? (
            <div className="panel">
              <Notice title={compare.title} text={compare.first} />
            </div>
          ) : (
            <>
              <p className="soft small">{compare.differs}</p>
              <section className="compare" aria-label={compare.title} tabIndex={0}>
                {attempts.map((attempt) => (
                  <CompareColumn
                    key={spellWay(attempt.speech)}
                    attempt={attempt}
                    first={attempts[0] === attempt ? undefined : attempts[0]?.callId}
                  />
                ))}
              </section>
            </>
          )}
        </>
      )}
    </div>
  )
}

function toggledWith(toggled: ReadonlySet<string>, way: string): ReadonlySet<string> {
  return toggled.has(way) ? new Set([...toggled].filter((each) => each !== way)) : new Set([...toggled, way])
}
