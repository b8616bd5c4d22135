import type { GraphNode } from 'dragoman/orchestrator'
import type { ReactNode } from 'react'
import { formatMs } from '../../components/format.js'
import { useLanguage, useText } from '../../text/text.js'
import { msOf, stepTones } from './step-state.js'

interface WaterfallProps {
  readonly nodes: readonly GraphNode[]
  readonly chosen: string | undefined
  onChoose(node: GraphNode): void
}

/** All steps of a run on a time axis. */
export function Waterfall({ nodes, chosen, onChoose }: WaterfallProps): ReactNode {
  const { workflows, tasks, common } = useText()
  const { language } = useLanguage()
  const now = Date.now()
  const from = Math.min(...nodes.map(({ startedAt }) => Date.parse(startedAt)))
  const span = Math.max(1, ...nodes.map((node) => Date.parse(node.startedAt) - from + msOf(node, now)))
  return (
    <div className="scrolls">
      <table className="table waterfall">
        <thead>
          <tr>
            <th scope="col">{workflows.step}</th>
            <th scope="col">{tasks.state}</th>
            <th scope="col" className="is-wide">
              <span className="axis">
                <span>{workflows.duration}</span>
                <span>{formatMs(span, language)}</span>
              </span>
            </th>
          </tr>
        </thead>
        <tbody>
          {nodes.map((node) => (
            <tr key={node.id} aria-current={node.id === chosen ? 'true' : undefined}>
              <td>
                <button type="button" className="link-button" onClick={() => onChoose(node)}>
                  {node.id}
                </button>
                {node.agent !== undefined && (
                  <span className="small soft step-agent">
                    <span className="hidden-text">{common.agent} </span>
                    {node.agent}
                  </span>
                )}
              </td>
              <td>
                <span className={`badge ${stepTones[node.state]}`}>{workflows.states[node.state]}</span>
              </td>
              <td className="is-wide">
                <Bar node={node} before={Date.parse(node.startedAt) - from} span={span} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface BarProps {
  readonly node: GraphNode
  /** Start in milliseconds after the first step. */
  readonly before: number
  readonly span: number
  readonly now: number
}

function Bar({ node, before, span, now }: BarProps): ReactNode {
  const { language } = useLanguage()
  const ms = msOf(node, now)
  return (
    <>
      <span className="small mono">{formatMs(ms, language)}</span>
      <span className="bar-track">
        <span
          className={`bar ${stepTones[node.state]}`}
          style={{
            marginInlineStart: `${(before / span) * 100}%`,
            width: `${Math.max(1, (ms / span) * 100)}%`,
          }}
        />
      </span>
    </>
  )
}
