import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useDeferredValue, useState } from 'react'
import { Failure, Loading, Notice } from '../../components/notice.js'
import type { ListedAgent } from '../../model/known-agents.js'
import { replaceRoute, useRoute } from '../../route.js'
import { api } from '../../server/api.js'
import { useSession } from '../../server/console-context.js'
import { useText } from '../../text/text.js'
import { FoundAgent } from './found-agent.js'
import { LiveChanges } from './live-changes.js'
import { PublishAgent } from './publish-agent.js'

interface Found {
  readonly agents: readonly ListedAgent[]
  readonly total: number
}

export default function RegistryScreen(): ReactNode {
  const { registry } = useText()
  const session = useSession()
  if (session.data && session.data.registry === undefined)
    return (
      <div className="screen">
        <h1>{registry.title}</h1>
        <div className="panel">
          <Notice title={registry.noRegistry} text={registry.noRegistryText} />
        </div>
      </div>
    )
  return <Catalog />
}

function Catalog(): ReactNode {
  const { registry, common } = useText()
  const { query } = useRoute()
  const session = useSession()
  const typed = query.get('text') ?? ''
  const [isEverything, setEverything] = useState(true)
  const labels = useDeferredValue(typed.trim())
  const asked = new URLSearchParams({
    limit: '50',
    ...(labels !== '' && { text: labels }),
    ...(isEverything && { includeUnhealthy: 'true' }),
  })
  const found = useQuery({
    queryKey: ['registry', String(asked)],
    queryFn: () => api<Found>('GET', `registry?${asked}`),
    placeholderData: (before) => before,
  })
  return (
    <div className="screen">
      <div className="screen-head">
        <h1>{registry.title}</h1>
        <code className="soft break">{session.data?.registry}</code>
      </div>
      <div className="row">
        <input
          className="input grow is-search"
          type="search"
          aria-label={common.search}
          placeholder={registry.search}
          value={typed}
          onChange={({ target }) => replaceRoute(['registry'], { text: target.value || undefined })}
        />
        <label className="check">
          <input type="checkbox" checked={isEverything} onChange={({ target }) => setEverything(target.checked)} />
          {registry.includeUnhealthy}
        </label>
      </div>
      <div className="split is-right">
        <section className="panel" aria-label={registry.title}>
          {found.isPending ? (
            <Loading />
          ) : found.error ? (
            <Failure error={found.error} onRetry={() => void found.refetch()} />
          ) : found.data.agents.length === 0 ? (
            <Notice title={registry.empty} text={registry.emptyText} />
          ) : (
            <ul>
              {found.data.agents.map((agent) => (
                <FoundAgent key={`${agent.namespace}/${agent.name}`} agent={agent} />
              ))}
            </ul>
          )}
        </section>
        <div className="stack">
          <PublishAgent />
          <LiveChanges />
        </div>
      </div>
    </div>
  )
}
