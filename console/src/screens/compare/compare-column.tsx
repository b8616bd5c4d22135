import type { CallView } from 'dragoman/console'
import type { ReactNode } from 'react'
import { CopyButton } from '../../components/copy-button.js'
import { formatBytes, formatMs } from '../../components/format.js'
import { Loading, Notice } from '../../components/notice.js'
import { formatProtocol } from '../../model/dialects.js'
import { framesOf } from '../../model/wire-frames.js'
import { hrefTo } from '../../route.js'
import { useLanguage, useText } from '../../text/text.js'
import { formatBody, useCall } from '../wire/call-page.js'
import type { Attempt } from './compare-screen.js'

interface ColumnProps {
  readonly attempt: Attempt
  /** The call to compare with; absent in the first column. */
  readonly first: string | undefined
}

export function CompareColumn({ attempt, first }: ColumnProps): ReactNode {
  const { compare, wire } = useText()
  const { language } = useLanguage()
  const { protocol, callId, error, isRunning } = attempt
  const call = useCall(callId)
  const other = useCall(first)
  const [sent, received] = call.data ? sides(call.data) : ['', '']
  const [sentThere, receivedThere] = other.data ? sides(other.data) : [sent, received]
  return (
    <article className="panel" aria-label={formatProtocol(protocol)}>
      <header>
        <span className="badge accent">{protocol.dialect}</span>
        {protocol.binding !== undefined && <span className="badge">{protocol.binding}</span>}
        <span className="grow" />
        {call.data && (
          <a className="small" href={hrefTo(['wire', call.data.id])}>
            {call.data.ms === undefined ? wire.open : formatMs(call.data.ms, language)}
          </a>
        )}
      </header>
      {isRunning ? (
        <Loading />
      ) : callId === undefined ? (
        <Notice title={compare.notSupported} text={error ?? compare.notSupportedText} />
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
        <span className="faint small">{formatBytes(new Blob([text]).size, language)}</span>
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

/** Replaces ids and times, which differ in every call. */
function bare(line: string): string {
  return line
    .trim()
    .replace(/,$/, '')
    .replace(/[\da-f]{8}-[\da-f]{4}-[\da-f-]+/g, '…')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '…')
    .replace(/^"id": \d+$/, '"id": …')
}

/** Request and response, each as one text. */
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
          formatBody(body),
        ]
          .filter((each) => each !== '')
          .join('\n'),
      )
      .join('\n\n')
  return [spelled(true), spelled(false)]
}
