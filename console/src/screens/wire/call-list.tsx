import { useQuery } from '@tanstack/react-query'
import type { CallSummary } from 'dragoman/console'
import type { ReactNode } from 'react'
import { formatMs } from '../../components/format.js'
import { Failure, Loading, Notice } from '../../components/notice.js'
import { Time } from '../../components/time.js'
import { hrefTo } from '../../route.js'
import { useNameOf } from '../../server/agents.js'
import { api } from '../../server/api.js'
import { useLanguage, useText } from '../../text/text.js'

/** The filter of a list of calls, as in its URL. */
export interface CallQuery {
  readonly ref?: string
  readonly task?: string
  readonly context?: string
}

export function useCalls(query: CallQuery) {
  return useQuery({
    queryKey: ['calls', query],
    queryFn: async () =>
      (await api<{ readonly calls: readonly CallSummary[] }>('GET', `calls?${new URLSearchParams({ ...query })}`))
        .calls,
  })
}

interface ListProps {
  readonly query: CallQuery
  readonly chosen: string | undefined
}

export function CallList({ query, chosen }: ListProps): ReactNode {
  const { wire } = useText()
  const nameOf = useNameOf()
  const calls = useCalls(query)
  if (calls.isPending) return <Loading />
  if (calls.error) return <Failure error={calls.error} onRetry={() => void calls.refetch()} />
  if (calls.data.length === 0)
    return (
      <Notice title={wire.empty} text={wire.emptyText}>
        <a className="button is-main" href={hrefTo(['talk'])}>
          {wire.startTalk}
        </a>
      </Notice>
    )
  return (
    <ul className="call-list">
      {calls.data.map((call) => (
        <li key={call.id}>
          <a href={hrefTo(['wire', call.id], { ...query })} aria-current={call.id === chosen ? 'true' : undefined}>
            <span className="row is-one-line">
              <strong className="grow clip">{call.operation}</strong>
              <Outcome call={call} />
            </span>
            <span className="row small soft is-one-line">
              <span className="clip">{nameOf(call.ref)}</span>
              <span className="badge accent">{call.dialect}</span>
              <span className="badge">{call.binding}</span>
              <span className="grow" />
              <Time at={call.startedAt} />
            </span>
            {call.error !== undefined && <span className="small problem-text clip">{call.error}</span>}
          </a>
        </li>
      ))}
    </ul>
  )
}

/** The outcome of a call. A stream that the client closed is not a failure. */
export function Outcome({ call }: { readonly call: CallSummary }): ReactNode {
  const { wire } = useText()
  const { language } = useLanguage()
  const { ms, error, isLeft } = call
  if (ms === undefined)
    return (
      <span className="badge accent">
        <span className="dot pulse" />
        {wire.open}
      </span>
    )
  if (error !== undefined) return <span className="badge bad">{wire.failed}</span>
  return (
    <span className="badge">
      {isLeft && `${wire.closed} · `}
      {formatMs(ms, language)}
    </span>
  )
}
