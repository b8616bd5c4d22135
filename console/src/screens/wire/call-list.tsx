import { useQuery } from '@tanstack/react-query'
import type { CallSummary } from 'dragoman/console'
import type { ReactNode } from 'react'
import { api } from '../../link/api.js'
import { Failure, Loading, Notice } from '../../parts/notice.js'
import { Time } from '../../parts/time.js'
import { hrefTo } from '../../route.js'
import { useText } from '../../text/text.js'

interface ListProps {
  readonly query: { readonly ref?: string; readonly task?: string }
  readonly chosen: string | undefined
}

export function CallList({ query, chosen }: ListProps): ReactNode {
  const { wire } = useText()
  const calls = useQuery({
    queryKey: ['calls', query],
    queryFn: () => api<{ readonly calls: readonly CallSummary[] }>('GET', `calls?${new URLSearchParams(query)}`),
  })
  if (calls.isPending) return <Loading />
  if (calls.error) return <Failure error={calls.error} onRetry={() => void calls.refetch()} />
  if (calls.data.calls.length === 0) return <Notice title={wire.empty} text={wire.emptyText} />
  return (
    <ul className="call-list">
      {calls.data.calls.map((call) => (
        <li key={call.id}>
          <a
            href={hrefTo(['wire', call.id], query.task === undefined ? {} : { task: query.task })}
            aria-current={call.id === chosen ? 'true' : undefined}
          >
            <span className="row">
              <strong className="grow clip">{call.operation}</strong>
              {call.error !== undefined ? (
                <span className="badge bad">✕</span>
              ) : (
                <span className={`badge ${call.ms === undefined ? 'accent' : ''}`}>
                  {call.ms === undefined ? wire.open : `${call.ms} ms`}
                </span>
              )}
            </span>
            <span className="row small soft">
              <span className="badge accent">{call.dialect}</span>
              <span className="badge">{call.binding}</span>
              <Time at={call.startedAt} />
            </span>
            <span className="small soft mono clip">{call.error ?? call.ref}</span>
          </a>
        </li>
      ))}
    </ul>
  )
}
