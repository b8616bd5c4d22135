import { useInfiniteQuery } from '@tanstack/react-query'
import { A2AError, type Task, type TaskState } from 'dragoman/client'
import { type ReactNode, useState } from 'react'
import { Failure, Loading, Notice } from '../../components/notice.js'
import { StateBadge } from '../../components/state-badge.js'
import { Time } from '../../components/time.js'
import { hrefTo } from '../../route.js'
import { useConsole } from '../../server/console-context.js'
import { useText } from '../../text/text.js'

const pageSize = 50
/** A list that refreshes while it is visible. */
const refreshMs = 3000

export function TaskList({ agent }: { readonly agent: string }): ReactNode {
  const { tasks: labels, common, states } = useText()
  const context = useConsole()
  const [status, setStatus] = useState('')
  const [contextId, setContext] = useState('')
  const list = useInfiniteQuery({
    queryKey: ['tasks', agent, status, contextId],
    initialPageParam: '',
    queryFn: async ({ pageParam }) => {
      const client = await context.client(agent)
      return client.listTasks({
        pageSize,
        historyLength: 0,
        ...(pageParam !== '' && { pageToken: pageParam }),
        ...(status !== '' && { status: status as TaskState }), // the option values are states
        ...(contextId.trim() !== '' && { contextId: contextId.trim() }),
      })
    },
    getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
    refetchInterval: ({ state }) => (state.error ? false : refreshMs),
  })
  const found = list.data?.pages.flatMap((page) => page.tasks) ?? []
  const isImpossible = list.error instanceof A2AError && unsupported.has(list.error.code)
  return (
    <section className="panel" aria-label={labels.title}>
      <header>
        <select
          className="input"
          aria-label={labels.state}
          value={status}
          onChange={({ target }) => setStatus(target.value)}
        >
          <option value="">{labels.anyState}</option>
          {Object.entries(states).map(([state, word]) => (
            <option key={state} value={state}>
              {word}
            </option>
          ))}
        </select>
        <label className="grow">
          <span className="hidden-text">{labels.context}</span>
          <input
            className="input"
            placeholder={labels.context}
            value={contextId}
            onChange={({ target }) => setContext(target.value)}
          />
        </label>
        {list.data && <span className="soft small">{labels.total(list.data.pages[0]?.totalSize ?? found.length)}</span>}
      </header>
      {list.isPending ? (
        <Loading />
      ) : isImpossible ? (
        <Notice title={labels.cannotList} text={labels.cannotListText} />
      ) : list.error ? (
        <Failure error={list.error} onRetry={() => void list.refetch()} />
      ) : found.length === 0 ? (
        <Notice title={labels.empty} text={labels.emptyText}>
          <a className="button" href={hrefTo(['talk'], { with: agent })}>
            {labels.continue}
          </a>
        </Notice>
      ) : (
        <TaskTable agent={agent} tasks={found} />
      )}
      {list.hasNextPage && (
        <div className="notice">
          <button
            type="button"
            className="button"
            disabled={list.isFetchingNextPage}
            onClick={() => void list.fetchNextPage()}
          >
            {common.more}
          </button>
        </div>
      )}
    </section>
  )
}

const unsupported: ReadonlySet<string> = new Set(['UNSUPPORTED_OPERATION', 'METHOD_NOT_FOUND'])

function TaskTable({ agent, tasks }: { readonly agent: string; readonly tasks: readonly Task[] }): ReactNode {
  const { tasks: labels } = useText()
  return (
    <div className="scrolls">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{labels.state}</th>
            <th scope="col">{labels.id}</th>
            <th scope="col" className="is-extra">
              {labels.context}
            </th>
            <th scope="col">{labels.updated}</th>
          </tr>
        </thead>
        <tbody>
          {tasks.map(({ id, contextId, status }) => (
            <tr key={id}>
              <td>
                <StateBadge state={status.state} />
              </td>
              <td className="mono is-id">
                <a href={hrefTo(['tasks', agent, id])}>{id}</a>
              </td>
              <td className="mono soft is-id is-extra">{contextId}</td>
              <td className="soft">{status.timestamp && <Time at={status.timestamp} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
