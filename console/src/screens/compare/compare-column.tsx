import type { CallView } from 'dragoman/console'
import type { ReactNode } from 'react'
import { spellWay } from '../../model/dialects.js'
import { framesOf } from '../../model/wire-frames.js'
import { CopyButton } from '../../parts/copy-button.js'
import { spellBytes, spellMs } from '../../parts/duration.js'
import { Loading, Notice } from '../../parts/notice.js'
import { hrefTo } from '../../route.js'
import { useLanguage, useText } from '../../text/text.js'
import { spell, useCall } from '../wire/call-page.js'
import type { Attempt } from './compare-screen.js'

interface ColumnProps {
  readonly attempt: Attempt
  /** The call to compare with; absent for the first itself. */
  readonly first: string | undefined
}

export function CompareColumn({ attempt, first }: ColumnProps): ReactNode {
  const { compare, wire } = useText()
  const { language } = useLanguage()
  const { speech, callId, error, isRunning } = attempt
  const call = useCall(callId)
  const other = useCall(first)
  const [sent, received] = call.data ? sides(call.data) : ['', '']
  const [sentThere, receivedThere] = other.data ? sides(other.data) : [sent, received]
  return (
    <article className="panel" aria-label={spellWay(speech)}>
      <header>
        <span className="badge accent">{speech.dialect}</span>
        {speech.binding !== undefined && <span className="badge">{speech.binding}</span>}
        <span className="grow" />
        {call.data && (
          <a className="small" href={hrefTo(['wire', call.data.id])}>
            {call.data.ms === undefined ? wire.open : spellMs(call.data.ms, language)}
          </a>
        )}
      </header>
      {isRunning ? (
        <Loading />
      ) : callId === undefined ? (
        <Notice title={compare.notSpoken} text={error ?? compare.notSpokenText} />
      ) : (
        <>
          {error !== undefined && <p className="problem-text body break">{error}</p>}
          <Side title={compare.sent} text={sent} other={sentThere} />
          <Side title={compare.received} text={received} other={receivedThere} />
        </>
      )}
    </article>
  )
}

interface SideProps {
  readonly title: string
  readonly text: string
  readonly other: string
}

function Side({ title, text, other }: SideProps): ReactNode {
  const { language } = useLanguage()
  const known = new Set(other.split('\n').map(bare))
  return (
    <>
      <div className="body row">
        <h2>{title}</h2>
        <span className="faint small">{spellBytes(new Blob([text]).size, language)}</span>
        <span className="grow" />
        <CopyButton text={text} />
      </div>
      <pre className="lines" tabIndex={0} role="group" aria-label={title}>
        {text.split('\n').map((line, place) => (
          <span key={place} className={known.has(bare(line)) ? undefined : 'new'}>
            {line || ' '}
          </span>
        ))}
      </pre>
    </>
  )
}

/** What is new with every call is no difference: ids, times. */
function bare(line: string): string {
  return line
    .trim()
    .replace(/,$/, '')
    .replace(/[\da-f]{8}-[\da-f]{4}-[\da-f-]+/g, '…')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '…')
    .replace(/^"id": \d+$/, '"id": …')
}

/** What was sent and what came back, each as one text. */
function sides({ wire, binding }: CallView): readonly [string, string] {
  const lines = framesOf(wire).filter((line) => line.binding === binding)
  const spelled = (isOut: boolean) =>
    lines
      .filter(({ direction }) => (direction === 'request') === isOut)
      .map(({ direction, what, status, headers, body }) =>
        [
          direction === 'request' ? what : direction === 'response' ? `${status ?? ''}` : '',
          ...Object.entries(headers ?? {})
            .filter(([name]) => /^(a2a|content-type|accept|x-a2a)/i.test(name))
            .map(([name, value]) => `${name}: ${value}`),
          spell(body),
        ]
          .filter((each) => each !== '')
          .join('\n'),
      )
      .join('\n\n')
  return [spelled(true), spelled(false)]
}
