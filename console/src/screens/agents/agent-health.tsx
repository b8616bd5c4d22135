import { useMutation } from '@tanstack/react-query'
import type { ProbeStep, ProbeView } from 'dragoman/console'
import { type ReactNode, useState } from 'react'
import { api } from '../../link/api.js'
import { spellMs } from '../../parts/duration.js'
import { Problem } from '../../parts/notice.js'
import { useLanguage, useText } from '../../text/text.js'

/** Three levels, one after the other: the card can be read, bindings answer, it does what it is asked. */
export function AgentHealth({ agent }: { readonly agent: string }): ReactNode {
  const { agents: words } = useText()
  const [isCalling, setCalling] = useState(false)
  const [said, setSaid] = useState('ping')
  const probe = useMutation({
    mutationFn: () => api<ProbeView>('POST', 'probe', { ref: agent, ...(isCalling && { text: said }) }),
  })
  const { data } = probe
  return (
    <div className="stack">
      <div className="row">
        <h3>{words.health}</h3>
        <button type="button" className="button is-small" disabled={probe.isPending} onClick={() => probe.mutate()}>
          {words.probe}
        </button>
        <label className="check small">
          <input type="checkbox" checked={isCalling} onChange={({ target }) => setCalling(target.checked)} />
          {words.callWith}
        </label>
        <input
          className="input is-short small"
          aria-label={words.callWith}
          value={said}
          onChange={({ target }) => setSaid(target.value)}
        />
      </div>
      <Problem error={probe.error} />
      <ul className="levels" aria-live="polite">
        {data && <Level name={words.levelCard} step={data.card} />}
        {data?.bindings.map((step) => (
          <Level
            key={`${step.dialect} ${step.binding} ${step.url}`}
            name={`${step.dialect} ${step.binding}`}
            step={step}
          />
        ))}
        {data?.call && <Level name={words.levelCall} step={data.call} />}
      </ul>
    </div>
  )
}

function Level({ name, step }: { readonly name: string; readonly step: ProbeStep }): ReactNode {
  const { agents: words } = useText()
  const { language } = useLanguage()
  return (
    <li className="row appears">
      <span className={`badge ${step.isGood ? 'good' : 'bad'}`}>
        <span className="dot" />
        {step.isGood ? words.good : words.bad}
      </span>
      <span>{name}</span>
      <span className="faint small">{spellMs(step.ms, language)}</span>
      <span className="soft small break">{step.detail}</span>
    </li>
  )
}
