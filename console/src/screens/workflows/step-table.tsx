import type { GraphNode } from 'dragoman/orchestrator'
import type { ReactNode } from 'react'
import { useText } from '../../text/text.js'
import { durationOf, stepTones } from './step-words.js'

interface TableProps {
  readonly nodes: readonly GraphNode[]
  readonly chosen: string | undefined
  onChoose(node: GraphNode): void
}

/** The graph for those who read lists, by eye or by ear; the bars show what ran beside what. */
export function StepTable({ nodes, chosen, onChoose }: TableProps): ReactNode {
  const { workflows, tasks, common } = useText()
  const starts = nodes.map(({ startedAt }) => Date.parse(startedAt))
  const ends = nodes.map(({ endedAt }) => (endedAt === undefined ? Date.now() : Date.parse(endedAt)))
  const [from, to] = [Math.min(...starts), Math.max(...ends)]
  const span = Math.max(1, to - from)
  return (
    <div className="scrolls">
      <table className="table">
        <thead>
          <tr>
            <th scope="col">{workflows.step}</th>
            <th scope="col">{tasks.state}</th>
            <th scope="col">{common.agent}</th>
            <th scope="col">{workflows.duration}</th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((node, place) => (
            <tr key={node.id} aria-current={node.id === chosen ? 'true' : undefined}>
              <td>
                <button type="button" className="button is-quiet is-small" onClick={() => onChoose(node)}>
                  {node.id}
                </button>
              </td>
              <td>
                <span className={`badge ${stepTones[node.state]}`}>{node.state}</span>
              </td>
              <td className="soft">{node.agent}</td>
              <td>
                <span className="small mono">{durationOf(node)}</span>
                <span className="bar-track">
                  <span
                    className={`bar ${stepTones[node.state]}`}
                    style={{
                      marginInlineStart: `${(((starts[place] ?? from) - from) / span) * 100}%`,
                      width: `${Math.max(1, (((ends[place] ?? to) - (starts[place] ?? from)) / span) * 100)}%`,
                    }}
                  />
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
