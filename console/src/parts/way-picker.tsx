/** How to speak to an agent: what its card offers, and `negotiated`. */
import type { Choice } from 'dragoman/client'
import type { ReactNode } from 'react'
import { useCard } from '../link/agents.js'
import type { Speech } from '../link/link.js'
import { useText } from '../text/text.js'

/** Dialects that no card names are spoken where somebody says so. */
const unnamed = ['v0.1', 'task-rest', 'invoke', 'chat-rpc'] as const

export function waysOf(choices: readonly Choice[]): { readonly dialect: string; readonly binding?: string }[] {
  const offered = choices.map(({ dialect, binding }) => ({ dialect, binding: binding as string }))
  const others = unnamed.filter((dialect) => !offered.some((each) => each.dialect === dialect))
  return [...offered, ...others.map((dialect) => ({ dialect }))]
}

interface PickerProps {
  readonly agent: string
  readonly speech: Speech
  onChoose(speech: Speech): void
}

export function WayPicker({ agent, speech, onChoose }: PickerProps): ReactNode {
  const { talk } = useText()
  const card = useCard(agent)
  const ways = waysOf(card.data?.choices ?? [])
  const [best] = card.data?.choices ?? []
  const chosen = speech.dialect === undefined ? '' : spell(speech)
  return (
    <label className="row small soft">
      <span className="hidden-text">{talk.speech}</span>
      <select
        className="input"
        value={chosen}
        onChange={({ target }) => {
          const [dialect, binding] = target.value.split(' ')
          onChoose(dialect ? { dialect, ...(binding && { binding }) } : {})
        }}
      >
        <option value="">{best ? `${talk.auto}: ${best.dialect} ${best.binding}` : talk.auto}</option>
        {ways.map((way) => (
          <option key={spell(way)} value={spell(way)}>
            {way.dialect} {way.binding ?? ''}
          </option>
        ))}
      </select>
    </label>
  )
}

function spell({ dialect = '', binding = '' }: Speech): string {
  return binding === '' ? dialect : `${dialect} ${binding}`
}
