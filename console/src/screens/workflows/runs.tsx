import { useQuery } from '@tanstack/react-query'
import { type Task, textOf } from 'dragoman/client'
import type { ReactNode } from 'react'
import { Failure, Loading, Notice } from '../../components/notice.js'
import { StateBadge } from '../../components/state-badge.js'
import { Time } from '../../components/time.js'
import { hrefTo } from '../../route.js'
import { useConsole } from '../../server/console-context.js'
import { useText } from '../../text/text.js'

const refreshMs = 3000

export function Runs({ agent }: { readonly agent: string }): ReactNode {
  const { workflows, tasks } = useText()
  const context = useConsole()
  const runs = useQuery({
    queryKey: ['runs', agent],
    queryFn: async () => (await (await context.client(agent)).listTasks({ pageSize: 50, historyLength: 50 })).tasks,
    refetchInterval: ({ state }) => (state.error ? false : refreshMs),
  })
  return (
    <section className="panel" aria-label={workflows.runs}>
      <header>
        <h2>{workflows.runs}</h2>
      </header>
      {runs.isPending ? (
        <Loading />
      ) : runs.error ? (
        <Failure error={runs.error} onRetry={() => void runs.refetch()} />
      ) : runs.data.length === 0 ? (
        <Notice title={workflows.noRuns} text={workflows.noRunsText} />
      ) : (
        <div className="scrolls">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">{tasks.state}</th>
                <th scope="col">{workflows.topic}</th>
                <th scope="col">{tasks.updated}</th>
              </tr>
            </thead>
            <tbody>
              {runs.data.map((run) => (
                <tr key={run.id}>
                  <td>
                    <StateBadge state={run.status.state} />
                  </td>
                  <td>
                    <a href={hrefTo(['workflows', agent, run.id])}>{topicOf(run)}</a>
                  </td>
                  <td className="soft">{run.status.timestamp && <Time at={run.status.timestamp} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

function topicOf({ id, history }: Task): string {
  const first = history?.find(({ role }) => role === 'ROLE_USER')
  return (first && textOf(first).slice(0, 120)) || id
}
