import { useQuery } from '@tanstack/react-query'
import type { CallView, WireLine } from 'dragoman/console'
import { type ReactNode, useState } from 'react'
import { Code } from '../../components/code.js'
import { CopyButton } from '../../components/copy-button.js'
import { DownloadButton } from '../../components/download-button.js'
import { formatMs, shortId } from '../../components/format.js'
import { Failure, Loading, Notice } from '../../components/notice.js'
import { framesOf } from '../../model/wire-frames.js'
import { asCurl, asTypescript } from '../../model/wire-snippets.js'
import { hrefTo } from '../../route.js'
import { ApiError, api } from '../../server/api.js'
import { useLanguage, useText } from '../../text/text.js'
import { Outcome } from './call-list.js'

const linesAtOnce = 100

export function useCall(id: string | undefined) {
  return useQuery({
    queryKey: ['call', id],
    queryFn: () => api<CallView>('GET', `call?${new URLSearchParams({ id: id ?? '' })}`),
    enabled: id !== undefined,
  })
}

export function CallPage({ id }: { readonly id: string }): ReactNode {
  const { wire, common, talk } = useText()
  const call = useCall(id)
  const [shown, setShown] = useState(linesAtOnce)
  if (call.isPending) return <Loading />
  if (call.error)
    return (
      <div className="panel">
        {call.error instanceof ApiError && call.error.status === 404 ? (
          <Notice title={wire.notStored} text={wire.notStoredText}>
            <a className="button" href={hrefTo(['wire'])}>
              {wire.showAll}
            </a>
          </Notice>
        ) : (
          <Failure error={call.error} onRetry={() => void call.refetch()} />
        )}
      </div>
    )
  const { data } = call
  const lines = framesOf(data.wire)
  return (
    <section className="panel" aria-label={data.operation}>
      <header>
        <h2>{data.operation}</h2>
        <span className="badge accent">{data.dialect}</span>
        <span className="badge">{data.binding}</span>
        <Outcome call={data} />
        <span className="soft small">{wire.lines(lines.length)}</span>
        <span className="row actions">
          {data.taskId !== undefined && (
            <a className="small mono" href={hrefTo(['tasks', data.ref, data.taskId])}>
              {talk.task} {shortId(data.taskId)}
            </a>
          )}
          <CopyButton label={wire.copyCurl} text={() => asCurl(data)} />
          <CopyButton label={wire.copyTypescript} text={() => asTypescript(data)} />
          <DownloadButton
            filename={`${data.operation}-${shortId(data.id)}.json`}
            text={() => JSON.stringify(data, null, 2)}
            type="application/json"
          />
        </span>
      </header>
      {data.error !== undefined && <p className="problem-text body break">{data.error}</p>}
      {lines.slice(0, shown).map((line, place) => (
        <Line key={`${place}`} line={line} isLeft={data.isLeft === true} />
      ))}
      {data.left > 0 && <p className="body soft">{wire.omittedLines(data.left)}</p>}
      {lines.length > shown && (
        <div className="notice">
          <button type="button" className="button" onClick={() => setShown(shown + 5 * linesAtOnce)}>
            {common.more} ({lines.length - shown})
          </button>
        </div>
      )}
    </section>
  )
}

interface LineProps {
  readonly line: WireLine
  /** Whether the client closed the stream, so that its error status is expected. */
  readonly isLeft: boolean
}

function Line({ line, isLeft }: LineProps): ReactNode {
  const { wire } = useText()
  const { language } = useLanguage()
  const { direction, what, status, headers, body, at } = line
  const text = formatBody(body)
  const isGood = status === 'OK' || (typeof status === 'number' && status < 400)
  const wasLeft = isLeft && !isGood && typeof status === 'string'
  return (
    <article className="wire-line">
      <header>
        <span className={direction === 'request' ? 'arrow-out' : 'arrow-in'} aria-hidden="true">
          {direction === 'request' ? '→' : '←'}
        </span>
        <strong>{wire[direction]}</strong>
        {direction !== 'event' && <code className="break">{what}</code>}
        {status !== undefined && (
          <span className={`badge ${isGood ? 'good' : wasLeft ? '' : 'bad'}`}>{wasLeft ? wire.closed : status}</span>
        )}
        <span className="grow" />
        <span className="faint small mono">+{formatMs(at, language)}</span>
      </header>
      {headers && Object.keys(headers).length > 0 && (
        <details>
          <summary className="small soft">
            {wire.headers} ({Object.keys(headers).length})
          </summary>
          <dl className="facts mono break">
            {Object.entries(headers).map(([name, value]) => (
              <div key={name} className="header-line">
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
      {text !== '' && <Code label={wire[direction]} text={text} />}
    </article>
  )
}

/** Formats JSON bodies with indentation. */
export function formatBody(body: unknown): string {
  if (body === undefined || body === '') return ''
  if (typeof body !== 'string') return JSON.stringify(body, null, 2)
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
