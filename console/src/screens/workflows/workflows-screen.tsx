import { useMutation } from '@tanstack/react-query'
import { workflowUri } from 'dragoman/orchestrator'
import { type FormEvent, type ReactNode, useState } from 'react'
import { AgentPicker } from '../../components/agent-picker.js'
import { Loading, Notice, Problem } from '../../components/notice.js'
import { go, useRoute } from '../../route.js'
import { examplesOf, type NamedCard, useAgents, useCard } from '../../server/agents.js'
import { useConsole, useSession } from '../../server/console-context.js'
import { useLanguage, useText } from '../../text/text.js'
import { RunPage } from './run-page.js'
import { Runs } from './runs.js'

export default function WorkflowsScreen(): ReactNode {
  const { workflows } = useText()
  const { path } = useRoute()
  const session = useSession()
  const agents = useAgents()
  const asked = path[1] ?? session.data?.workflow?.ref ?? agents.find(runsWorkflows)?.ref
  const ref = session.data?.agents.find((agent) => agent.ref === asked)?.ref
  const runId = path[2]
  if (ref !== undefined && runId !== undefined) return <RunPage key={runId} agent={ref} runId={runId} />
  return (
    <div className="screen">
      <div className="screen-head">
        <h1>{workflows.title}</h1>
        <AgentPicker chosen={ref} isOffered={runsWorkflows} onChoose={(chosen) => go(['workflows', chosen])} />
        <p>{workflows.lead}</p>
      </div>
      {ref === undefined ? (
        <div className="panel">
          {agents.some(({ isPending }) => isPending) ? (
            <Loading />
          ) : (
            <Notice title={workflows.noWorkflow} text={workflows.noWorkflowText} />
          )}
        </div>
      ) : (
        <>
          <StartRun key={ref} agent={ref} />
          <Runs agent={ref} />
        </>
      )}
    </div>
  )
}

/** Whether the card declares the workflow extension. */
function runsWorkflows({ view }: NamedCard): boolean {
  return view?.card.capabilities.extensions?.some(({ uri }) => uri === workflowUri) === true
}

function StartRun({ agent }: { readonly agent: string }): ReactNode {
  const { workflows, talk } = useText()
  const { language } = useLanguage()
  const card = useCard(agent)
  const examples = card.data ? examplesOf(card.data.card, language) : []
  const context = useConsole()
  const [topic, setTopic] = useState('')
  const start = useMutation({
    mutationFn: async (said: string) => {
      const client = await context.client(agent)
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER' as const, parts: [{ text: said }] }
      const made = await client.sendMessage({ message, configuration: { returnImmediately: true } })
      if (!('task' in made)) throw new Error(workflows.noGraph)
      return made.task.id
    },
    onSuccess: (id) => go(['workflows', agent, id]),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (topic.trim() !== '') start.mutate(topic)
  }
  return (
    <form className="panel" onSubmit={submit}>
      {card.data && <p className="body soft">{card.data.card.description}</p>}
      <div className="body row">
        <label className="grow">
          <span className="hidden-text">{workflows.topic}</span>
          <input
            className="input"
            placeholder={examples[0] ?? workflows.topic}
            value={topic}
            onChange={({ target }) => setTopic(target.value)}
          />
        </label>
        <button type="submit" className="button is-main" disabled={start.isPending || topic.trim() === ''}>
          {workflows.start}
        </button>
        <Problem error={start.error} />
      </div>
      {examples.length > 0 && (
        <div className="body row">
          <span className="label">{talk.examples}</span>
          {examples.map((example) => (
            <button
              key={example}
              type="button"
              className="button is-small is-example"
              disabled={start.isPending}
              onClick={() => start.mutate(example)}
            >
              {example}
            </button>
          ))}
        </div>
      )}
    </form>
  )
}
