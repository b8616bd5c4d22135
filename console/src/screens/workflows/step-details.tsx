import type { GraphNode } from 'dragoman/orchestrator'
import type { ReactNode } from 'react'
import { formatMs } from '../../components/format.js'
import { Icon } from '../../components/icon.js'
import type { TaskView } from '../../model/task-view.js'
import { hrefTo } from '../../route.js'
import { useAgents } from '../../server/agents.js'
import { useLanguage, useText } from '../../text/text.js'
import { ArtifactBox } from '../talk/task-answer.js'
import { msOf, stepTones } from './step-state.js'

interface DetailsProps {
  readonly view: TaskView
  readonly step: GraphNode
  /** Forces a new render, because the task view is mutable. */
  readonly version: number
  onClose(): void
}

/** The result of a step and a link to its task. */
export function StepDetails({ view, step, version, onClose }: DetailsProps): ReactNode {
  const { workflows, agents, common } = useText()
  const { language } = useLanguage()
  const childRef = useRefByName(step.agent)
  const artifacts = [...view.artifacts.values()].filter(({ id }) => id === step.id || id.startsWith(`${step.id}/`))
  return (
    <section className="panel" aria-label={step.id}>
      <header>
        <h2 className="grow">{step.id}</h2>
        <span className={`badge ${stepTones[step.state]}`}>{workflows.states[step.state]}</span>
        <span className="small soft">{workflows.attempts(step.attempts)}</span>
        <span className="small soft">{formatMs(msOf(step), language)}</span>
        <button
          type="button"
          className="button is-quiet is-small"
          aria-label={`${common.close} ${step.id}`}
          onClick={onClose}
        >
          <Icon name="close" size={14} />
        </button>
      </header>
      <div className="body stack">
        {step.taskId !== undefined &&
          (childRef === undefined ? (
            <p className="small soft break">
              {step.agent}: {agents.unknown} <code>{step.taskId}</code>
            </p>
          ) : (
            <div>
              <a className="button" href={hrefTo(['tasks', childRef, step.taskId])}>
                {workflows.openTask}
              </a>
            </div>
          ))}
        {step.error !== undefined && <p className="problem-text break">{step.error}</p>}
        {artifacts.map((artifact) => (
          <ArtifactBox key={artifact.id} artifact={artifact} isLive={!artifact.isWhole} version={version} />
        ))}
      </div>
    </section>
  )
}

/** Finds the address of an agent that the graph names. */
function useRefByName(name: string | undefined): string | undefined {
  const agents = useAgents()
  if (name === undefined) return undefined
  const found = agents.find((agent) => agent.name === name) ?? agents.find(({ ref }) => ref === name)
  return (found ?? agents.find(({ ref }) => ref.endsWith(`/${name}`)))?.ref
}
