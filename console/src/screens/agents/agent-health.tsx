import { useMutation } from '@tanstack/react-query'
import type { ProbeStep, ProbeView } from 'dragoman/console'
import { type ReactNode, useState } from 'react'
import { formatMs } from '../../components/format.js'
import { Problem } from '../../components/notice.js'
import { api } from '../../server/api.js'
import { useLanguage, useText } from '../../text/text.js'

/** Checks three levels in order: the card, the bindings, a real call. */
export function AgentHealth({ agent }: { readonly agent: string }): ReactNode {
  const { agents: labels } = useText()
  const [isCalling, setCalling] = useState(false)
  const [said, setSaid] = useState('ping')
  const probe = useMutation({
    mutationFn: () => api<ProbeView>('POST', 'probe', { ref: agent, ...(isCalling && { text: said }) }),
  })
  const { data } = probe
  return (
    <div className="stack">
      <div className="row">
        <h3>{labels.health}</h3>
        <button type="button" className="button is-small" disabled={probe.isPending} onClick={() => probe.mutate()}>
          {labels.probe}
        </button>
        <label className="check small">
          <input type="checkbox" checked={isCalling} onChange={({ target }) => setCalling(target.checked)} />
          {labels.realCallText}
        </label>
        <input
          className="input is-short small"
          aria-label={labels.realCallText}
          value={said}
          onChange={({ target }) => setSaid(target.value)}
        />
      </div>
      <Problem error={probe.error} />
      <ul className="levels" aria-live="polite">
        {data && <Level name={labels.levelCard} step={data.card} />}
        {data?.bindings.map((step) => (
          <Level
            key={`${step.dialect} ${step.binding} ${step.url}`}
            name={`${step.dialect} ${step.binding}`}
            step={step}
          />
        ))}
        {data?.call && <Level name={labels.levelCall} step={data.call} />}
      </ul>
    </div>
  )
}

function Level({ name, step }: { readonly name: string; readonly step: ProbeStep }): ReactNode {
  const { agents: labels } = useText()
  const { language } = useLanguage()
  return (
    <li className="row appears">
      <span className={`badge ${step.isGood ? 'good' : 'bad'}`}>
        <span className="dot" />
        {step.isGood ? labels.ok : labels.failed}
      </span>
      <span>{name}</span>
      <span className="faint small">{formatMs(step.ms, language)}</span>
      <span className="soft small break">{step.detail}</span>
    </li>
  )
}
