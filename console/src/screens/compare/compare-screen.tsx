import { type FormEvent, type ReactNode, useState } from 'react'
import { AgentPicker } from '../../components/agent-picker.js'
import { Loading, Notice } from '../../components/notice.js'
import { formatProtocol, interfacesOf } from '../../model/dialects.js'
import { problemCode } from '../../model/problem-code.js'
import { go, useRoute } from '../../route.js'
import { useCard, useDefaultAgent } from '../../server/agents.js'
import { type Protocol, useConsole, useSession } from '../../server/console-context.js'
import { describeProblem } from '../../text/problems.js'
import { useLanguage, useText } from '../../text/text.js'
import { CompareColumn } from './compare-column.js'

/** One column: its protocol, and the id of its call after sending. */
export interface Attempt {
  readonly protocol: Protocol
  readonly callId?: string | undefined
  readonly error?: string | undefined
  readonly isRunning: boolean
}

export default function CompareScreen(): ReactNode {
  const { compare, common, agents, push } = useText()
  const { language } = useLanguage()
  const { path } = useRoute()
  const context = useConsole()
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
  const { named, unnamed } = interfacesOf(card.data?.choices ?? [])
  // By default the protocols of the card are chosen.
  const isChosen = (protocol: Protocol) => named.includes(protocol) !== toggled.has(formatProtocol(protocol))
  const protocols = [...named, ...unnamed].filter(isChosen)
  const toggle = (protocol: Protocol) => setToggled(toggledWith(toggled, formatProtocol(protocol)))

  const send = async (event: FormEvent) => {
    event.preventDefault()
    if (ref === undefined || said.trim() === '') return
    setAttempts(protocols.map((protocol) => ({ protocol, isRunning: true })))
    const settle = (protocol: Protocol, outcome: Partial<Attempt>) =>
      setAttempts((before) => before.map((each) => (each.protocol === protocol ? { ...each, ...outcome } : each)))
    await Promise.all(
      protocols.map(async (protocol) => {
        let callId: string | undefined
        const outcome = await call(protocol, (id) => {
          callId = id
        }).catch((error: unknown) =>
          describeProblem(language, problemCode(error), error instanceof Error ? error.message : String(error)),
        )
        settle(protocol, { isRunning: false, callId, error: outcome })
      }),
    )
  }
  const call = async (protocol: Protocol, onCall: (id: string) => void): Promise<undefined> => {
    const client = await context.connect(ref ?? '', protocol, onCall)
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
            <button type="submit" className="button is-main" disabled={card.isPending || protocols.length === 0}>
              {compare.run}
            </button>
            <fieldset className="row chips">
              <legend className="hidden-text">{compare.protocols}</legend>
              {[...named, ...unnamed].map((protocol) => (
                <label key={formatProtocol(protocol)} className="check small">
                  <input type="checkbox" checked={isChosen(protocol)} onChange={() => toggle(protocol)} />
                  {formatProtocol(protocol)}
                </label>
              ))}
            </fieldset>
          </form>
          {card.isPending ? (
            <Loading />
          ) : attempts.length === 0 ? (
            <div className="panel">
              <Notice title={compare.title} text={compare.emptyText} />
            </div>
          ) : (
            <>
              <p className="soft small">{compare.differs}</p>
              <section className="compare" aria-label={compare.title} tabIndex={0}>
                {attempts.map((attempt) => (
                  <CompareColumn
                    key={formatProtocol(attempt.protocol)}
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

function toggledWith(toggled: ReadonlySet<string>, protocol: string): ReadonlySet<string> {
  return toggled.has(protocol)
    ? new Set([...toggled].filter((each) => each !== protocol))
    : new Set([...toggled, protocol])
}
