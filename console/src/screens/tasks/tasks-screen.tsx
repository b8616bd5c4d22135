import { type FormEvent, type ReactNode, useState } from 'react'
import { AgentPicker } from '../../components/agent-picker.js'
import { Loading, Notice } from '../../components/notice.js'
import { go, useRoute } from '../../route.js'
import { useDefaultAgent } from '../../server/agents.js'
import { useSession } from '../../server/console-context.js'
import { useText } from '../../text/text.js'
import { TaskList } from './task-list.js'
import { TaskPage } from './task-page.js'

export default function TasksScreen(): ReactNode {
  const { tasks, agents } = useText()
  const { path } = useRoute()
  const session = useSession()
  const first = useDefaultAgent()
  const [, ref = first, taskId] = path
  const isKnown = session.data?.agents.some((agent) => agent.ref === ref) === true
  if (ref !== undefined && isKnown && taskId !== undefined) return <TaskPage key={taskId} agent={ref} taskId={taskId} />
  return (
    <div className="screen">
      <div className="screen-head">
        <h1>{tasks.title}</h1>
        <AgentPicker chosen={isKnown ? ref : undefined} onChoose={(chosen) => go(['tasks', chosen])} />
        <span className="grow" />
        {ref !== undefined && isKnown && <OpenById agent={ref} />}
      </div>
      {ref === undefined ? (
        session.data?.agents.length === 0 ? (
          <Notice title={agents.empty} text={agents.emptyText} />
        ) : (
          <Loading />
        )
      ) : isKnown ? (
        <TaskList key={ref} agent={ref} />
      ) : (
        <Notice isBad title={agents.unknown} text={agents.unknownText(ref)} />
      )}
    </div>
  )
}

function OpenById({ agent }: { readonly agent: string }): ReactNode {
  const { tasks, common } = useText()
  const [id, setId] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (id.trim() !== '') go(['tasks', agent, id.trim()])
  }
  return (
    <form className="row is-one-line" onSubmit={submit}>
      <input
        className="input"
        aria-label={tasks.openById}
        placeholder={tasks.openById}
        value={id}
        onChange={({ target }) => setId(target.value)}
      />
      <button type="submit" className="button">
        {common.open}
      </button>
    </form>
  )
}
