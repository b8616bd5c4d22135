import { isInterrupted, isTerminal, type Part, schemaOf, textOf } from 'dragoman/client'
import { type GraphNode, graphOf } from 'dragoman/orchestrator'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import { shortId } from '../../components/format.js'
import { Failure, Loading, Notice } from '../../components/notice.js'
import { PartsView } from '../../components/parts-view.js'
import { SchemaForm } from '../../components/schema-form.js'
import { StateBadge } from '../../components/state-badge.js'
import { graphId } from '../../model/run-result.js'
import { useSignal } from '../../model/signal.js'
import type { TaskView } from '../../model/task-view.js'
import { hrefTo, replaceRoute, useRoute } from '../../route.js'
import { useConsole } from '../../server/console-context.js'
import { useText } from '../../text/text.js'
import { useTaskLog } from '../tasks/use-task-log.js'
import { RunResult } from './run-result.js'
import { StepDetails } from './step-details.js'
import { Waterfall } from './waterfall.js'

const Graph = lazy(() => import('./run-graph.js'))

export function RunPage({ agent, runId }: { readonly agent: string; readonly runId: string }): ReactNode {
  const { workflows, tasks, talk } = useText()
  const context = useConsole()
  const { query } = useRoute()
  const log = useTaskLog(agent, runId)
  useSignal(log.signal)
  const { view, error } = log
  const graph = graphOf({ artifacts: artifactsOf(view), ...(view.status && { status: view.status }) })
  const chosen = graph?.nodes.find(({ id }) => id === query.get('step'))
  const choose = (step: GraphNode | undefined) => replaceRoute(['workflows', agent, runId], { step: step?.id })
  const asked = view.history.find(({ role }) => role === 'ROLE_USER')
  const topic = asked ? textOf(asked).slice(0, 120) : ''
  const isOver = view.state === undefined || isTerminal(view.state)
  const cancel = async () => {
    await (await context.client(agent)).cancelTask({ id: runId }).catch(() => undefined) // the log shows the outcome
  }
  return (
    <div className="screen">
      <div className="screen-head">
        <h1 className="clip">
          <a href={hrefTo(['workflows', agent])}>{workflows.title}</a> / {topic || shortId(runId)}
        </h1>
        <StateBadge state={view.state} />
        {graph && <span className="small soft">{graph.workflow}</span>}
        <span className="grow" />
        <div className="row">
          <a className="button" href={hrefTo(['tasks', agent, runId])}>
            {tasks.timeline}
          </a>
          <a className="button" href={hrefTo(['wire'], { task: runId })}>
            {talk.wire}
          </a>
          {!isOver && (
            <button type="button" className="button is-danger" onClick={() => void cancel()}>
              {workflows.cancelRun}
            </button>
          )}
        </div>
      </div>
      {error !== undefined && view.events.length === 0 ? (
        <div className="panel">
          <Failure error={error} onRetry={() => log.again()} />
        </div>
      ) : (
        <>
          {view.state !== undefined && isInterrupted(view.state) && <RunQuestion agent={agent} view={view} />}
          {view.state === 'TASK_STATE_FAILED' && <RunFailure view={view} />}
          <section className="panel graph" aria-label={workflows.graph}>
            {graph && graph.nodes.length > 0 ? (
              <Suspense fallback={<Loading />}>
                <Graph graph={graph} chosen={chosen?.id} onChoose={choose} />
              </Suspense>
            ) : isOver ? (
              <Notice title={workflows.noGraph} />
            ) : (
              <Loading />
            )}
          </section>
          <div className="halves is-reading">
            <div className="stack">
              <section className="panel" aria-label={workflows.steps}>
                <header>
                  <h2>{workflows.timeline}</h2>
                </header>
                {graph && graph.nodes.length > 0 && (
                  <Waterfall nodes={graph.nodes} chosen={chosen?.id} onChoose={choose} />
                )}
              </section>
              {chosen ? (
                <StepDetails
                  view={view}
                  step={chosen}
                  version={view.signal.version}
                  onClose={() => choose(undefined)}
                />
              ) : (
                <p className="small soft">{workflows.selectStep}</p>
              )}
            </div>
            <RunResult view={view} topic={topic} version={view.signal.version} />
          </div>
        </>
      )}
    </div>
  )
}

function artifactsOf(view: TaskView) {
  const found = view.artifacts.get(graphId)
  return found ? [{ artifactId: graphId, parts: found.parts }] : []
}

function RunFailure({ view }: { readonly view: TaskView }): ReactNode {
  const message = view.status?.message
  if (!message) return null
  return (
    <div className="question is-bad" role="alert">
      <PartsView parts={message.parts} />
    </div>
  )
}

/** Shows the question of a run and sends the answer. */
function RunQuestion({ agent, view }: { readonly agent: string; readonly view: TaskView }): ReactNode {
  const { talk, common } = useText()
  const context = useConsole()
  const [typed, setTyped] = useState('')
  const [problem, setProblem] = useState<string>()
  const question = view.status?.message
  const schema = schemaOf(question)
  const answer = async (parts: readonly Part[]) => {
    const client = await context.client(agent)
    const message = {
      messageId: crypto.randomUUID(),
      role: 'ROLE_USER' as const,
      parts,
      taskId: view.id,
      contextId: view.contextId,
    }
    try {
      await client.sendMessage({ message, configuration: { returnImmediately: true } })
    } catch (caught) {
      setProblem(caught instanceof Error ? caught.message : String(caught))
    }
  }
  return (
    <div className="question">
      <strong>{talk.question}</strong>
      {question && <PartsView parts={question.parts} />}
      {schema ? (
        <SchemaForm schema={schema} onAnswer={(parts) => void answer(parts)} />
      ) : (
        <form
          className="row"
          onSubmit={(event) => {
            event.preventDefault()
            void answer([{ text: typed }])
          }}
        >
          <input
            className="input grow"
            aria-label={talk.answer}
            value={typed}
            onChange={({ target }) => setTyped(target.value)}
          />
          <button type="submit" className="button is-main">
            {common.send}
          </button>
        </form>
      )}
      {problem !== undefined && <p className="problem-text">{problem}</p>}
    </div>
  )
}
