import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { shortId } from '../../components/format.js'
import { Problem } from '../../components/notice.js'
import { hrefTo } from '../../route.js'
import { examplesOf, useCard } from '../../server/agents.js'
import { useConsole } from '../../server/console-context.js'
import { useLanguage, useText } from '../../text/text.js'

interface WebhookProps {
  readonly agent: string
  readonly receiver: string
}

/** Registers the console as receiver, with a new task or an existing one. */
export function Webhooks({ agent, receiver }: WebhookProps): ReactNode {
  const { push } = useText()
  const context = useConsole()
  const [taskId, setTaskId] = useState('')
  const { language } = useLanguage()
  const card = useCard(agent)
  const [typed, setTyped] = useState<string>()
  const said = typed ?? (card.data && examplesOf(card.data.card, language)[0]) ?? push.hello
  const start = useMutation({
    mutationFn: async () => {
      const client = await context.client(agent)
      const made = await client.sendMessage({
        message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: said }] },
        configuration: { returnImmediately: true, taskPushNotificationConfig: { url: receiver } },
      })
      return 'task' in made ? made.task.id : ''
    },
    onSuccess: (id) => setTaskId(id),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    start.mutate()
  }
  return (
    <section className="panel">
      <header>
        <h2>{push.start}</h2>
      </header>
      <div className="body stack">
        <form className="row" onSubmit={submit}>
          <label className="grow">
            <span className="hidden-text">{push.message}</span>
            <input className="input" value={said} onChange={({ target }) => setTyped(target.value)} />
          </label>
          <button type="submit" className="button is-main" disabled={start.isPending} aria-label={push.start}>
            {push.startShort}
          </button>
        </form>
        <Problem error={start.error} />
        <h3>{push.register}</h3>
        <label className="field">
          <span>{push.taskId}</span>
          <input className="input mono" value={taskId} onChange={({ target }) => setTaskId(target.value)} />
        </label>
        <TaskWebhooks agent={agent} receiver={receiver} taskId={taskId.trim()} />
      </div>
    </section>
  )
}

function TaskWebhooks({ agent, receiver, taskId }: WebhookProps & { readonly taskId: string }): ReactNode {
  const { push, common, tasks } = useText()
  const context = useConsole()
  const queries = useQueryClient()
  const key = ['webhooks', agent, taskId]
  const isNamed = taskId !== ''
  const configs = useQuery({
    queryKey: key,
    enabled: isNamed,
    queryFn: async () => (await (await context.client(agent)).listTaskPushNotificationConfigs({ taskId })).configs,
  })
  const refresh = () => queries.invalidateQueries({ queryKey: key })
  const register = useMutation({
    mutationFn: async () => (await context.client(agent)).createTaskPushNotificationConfig({ taskId, url: receiver }),
    onSuccess: refresh,
  })
  const remove = useMutation({
    mutationFn: async (id: string) => (await context.client(agent)).deleteTaskPushNotificationConfig({ taskId, id }),
    onSuccess: refresh,
  })
  const problem = register.error ?? remove.error ?? configs.error
  return (
    <div className="stack">
      <div className="row">
        <button
          type="button"
          className="button"
          disabled={!isNamed || register.isPending}
          onClick={() => register.mutate()}
        >
          {push.register}
        </button>
        {isNamed && (
          <a className="small" href={hrefTo(['tasks', agent, taskId])}>
            {tasks.id} {shortId(taskId)}
          </a>
        )}
      </div>
      <Problem error={problem} />
      {isNamed && <h3>{push.configs}</h3>}
      {configs.data?.length === 0 && <p className="soft">{push.noConfigs}</p>}
      <ul className="stack">
        {configs.data?.map(({ id = '', url }) => (
          <li key={id} className="row">
            <code className="grow break">{url}</code>
            <button type="button" className="button is-quiet is-danger is-small" onClick={() => remove.mutate(id)}>
              {common.remove}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
