import { useMutation } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { useLink, useSession } from '../../link/link.js'
import { AgentPicker } from '../../parts/agent-picker.js'
import { Notice } from '../../parts/notice.js'
import { go, useRoute } from '../../route.js'
import { useText } from '../../text/text.js'
import { RunPage } from './run-page.js'
import { Runs } from './runs.js'

export default function WorkflowsScreen(): ReactNode {
  const { workflows } = useText()
  const { path } = useRoute()
  const session = useSession()
  const asked = path[1] ?? session.data?.workflow?.ref
  const ref = session.data?.agents.find((agent) => agent.ref === asked)?.ref
  const runId = path[2]
  if (ref !== undefined && runId !== undefined) return <RunPage key={runId} agent={ref} runId={runId} />
  return (
    <div className="screen">
      <div className="screen-head">
        <h1>{workflows.title}</h1>
        <AgentPicker chosen={ref} onChoose={(chosen) => go(['workflows', chosen])} />
        <p>{workflows.lead}</p>
      </div>
      {ref === undefined ? (
        <div className="panel">
          <Notice title={workflows.none} text={workflows.noneText} />
        </div>
      ) : (
        <>
          <StartRun key={ref} agent={ref} prompt={session.data?.workflow?.prompt} />
          <Runs agent={ref} />
        </>
      )}
    </div>
  )
}

function StartRun({ agent, prompt }: { readonly agent: string; readonly prompt: string | undefined }): ReactNode {
  const { workflows } = useText()
  const link = useLink()
  const [topic, setTopic] = useState('')
  const start = useMutation({
    mutationFn: async () => {
      const client = await link.client(agent)
      const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER' as const, parts: [{ text: topic }] }
      const made = await client.sendMessage({ message, configuration: { returnImmediately: true } })
      if (!('task' in made)) throw new Error(workflows.noGraph)
      return made.task.id
    },
    onSuccess: (id) => go(['workflows', agent, id]),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (topic.trim() !== '') start.mutate()
  }
  return (
    <form className="panel" onSubmit={submit}>
      <div className="body row">
        <label className="grow">
          <span className="hidden-text">{workflows.topic}</span>
          <input
            className="input"
            placeholder={prompt ?? workflows.topic}
            value={topic}
            onChange={({ target }) => setTopic(target.value)}
          />
        </label>
        <button type="submit" className="button is-main" disabled={start.isPending || topic.trim() === ''}>
          {workflows.start}
        </button>
        {start.error && (
          <p className="problem-text" role="alert">
            {start.error.message}
          </p>
        )}
      </div>
    </form>
  )
}
