import { useQueries } from '@tanstack/react-query'
import type { CardView } from 'dragoman/console'
import type { GraphNode } from 'dragoman/orchestrator'
import type { ReactNode } from 'react'
import { api } from '../../link/api.js'
import { useSession } from '../../link/link.js'
import type { TaskView } from '../../model/task-view.js'
import { Notice } from '../../parts/notice.js'
import { hrefTo } from '../../route.js'
import { useText } from '../../text/text.js'
import { ArtifactBox } from '../talk/task-answer.js'
import { durationOf, stepTones } from './step-words.js'

interface DetailsProps {
  readonly agent: string
  readonly view: TaskView
  readonly step: GraphNode | undefined
  /** Runs grow in place: a new version is a new look at the same one. */
  readonly version: number
}

/** What a step did; without a step, what the run has made. */
export function StepDetails({ view, step, version }: DetailsProps): ReactNode {
  const { workflows, agents } = useText()
  const childRef = useRefByName(step?.agent)
  const isOf = (id: string) =>
    step ? id.startsWith(`${step.id}/`) || id === step.id : id === 'result' || !id.includes('/')
  const made = [...view.artifacts.values()].filter(({ id }) => id !== 'workflow-graph')
  const own = made.filter(({ id }) => isOf(id))
  // A run that makes nothing of its own is the sum of its steps; what came last is what it was for.
  const artifacts = step || own.length > 0 ? own : made.toReversed()
  return (
    <section className="panel" aria-label={step?.id ?? workflows.result}>
      <header>
        <h2 className="grow">{step?.id ?? workflows.result}</h2>
        {step && <span className={`badge ${stepTones[step.state]}`}>{step.state}</span>}
        {step && <span className="small soft">{workflows.attempts(step.attempts)}</span>}
        {step && <span className="small soft">{durationOf(step)}</span>}
      </header>
      <div className="body stack">
        {step?.taskId !== undefined &&
          (childRef === undefined ? (
            <p className="small soft">
              {step.agent}: {agents.unknown} <code>{step.taskId}</code>
            </p>
          ) : (
            <div>
              <a className="button" href={hrefTo(['tasks', childRef, step.taskId])}>
                {workflows.openTask}
              </a>
            </div>
          ))}
        {step?.error !== undefined && <p className="problem-text break">{step.error}</p>}
        {artifacts.map((artifact) => (
          <ArtifactBox key={artifact.id} artifact={artifact} isLive={!artifact.isWhole} version={version} />
        ))}
        {!step && artifacts.length === 0 && <Notice title={workflows.selectStep} />}
      </div>
    </section>
  )
}

/** A graph calls agents by name; the console knows them by address. */
function useRefByName(name: string | undefined): string | undefined {
  const session = useSession()
  const refs = session.data?.agents.map(({ ref }) => ref) ?? []
  const cards = useQueries({
    queries: refs.map((ref) => ({
      queryKey: ['card', ref],
      queryFn: () => api<CardView>('GET', `card?${new URLSearchParams({ ref })}`),
      staleTime: 30_000,
    })),
  })
  if (name === undefined) return undefined
  const place = cards.findIndex(({ data }) => data?.card.name === name)
  return refs[place] ?? refs.find((ref) => ref === name || ref.endsWith(`/${name}`))
}
