import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { Problem } from '../../components/notice.js'
import { api } from '../../server/api.js'
import { useText } from '../../text/text.js'

export function PublishAgent(): ReactNode {
  const { registry, agents } = useText()
  const queries = useQueryClient()
  const [ref, setRef] = useState('')
  const [namespace, setNamespace] = useState('public')
  const [name, setName] = useState('')
  const publish = useMutation({
    mutationFn: async () => {
      await api('POST', 'agents', { ref: ref.trim() })
      await api('PUT', 'registry/agent', { ref: ref.trim(), namespace, name })
    },
    onSuccess: () => queries.invalidateQueries(),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    publish.mutate()
  }
  return (
    <form className="panel" onSubmit={submit}>
      <header>
        <h2>{registry.publish}</h2>
      </header>
      <div className="body stack">
        <p className="small soft">{registry.publishText}</p>
        <label className="field">
          <span>{agents.addLabel}</span>
          <input
            className="input"
            required
            placeholder={agents.addressPlaceholder}
            value={ref}
            onChange={({ target }) => setRef(target.value)}
          />
        </label>
        <label className="field">
          <span>{registry.namespace}</span>
          <input className="input" required value={namespace} onChange={({ target }) => setNamespace(target.value)} />
        </label>
        <label className="field">
          <span>{registry.name}</span>
          <input className="input" required value={name} onChange={({ target }) => setName(target.value)} />
        </label>
        <div className="row">
          <button type="submit" className="button is-main" disabled={publish.isPending}>
            {registry.publish}
          </button>
          {publish.isSuccess && <span className="badge good">{registry.published}</span>}
        </div>
        <Problem error={publish.error} />
      </div>
    </form>
  )
}
