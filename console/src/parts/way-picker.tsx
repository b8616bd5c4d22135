/** How to speak to an agent: `negotiated`, what its card offers, and what it may speak besides. */
import type { ReactNode } from 'react'
import { useCard } from '../link/agents.js'
import type { Speech } from '../link/link.js'
import { spellWay, waysOf } from '../model/dialects.js'
import { useText } from '../text/text.js'

interface PickerProps {
  readonly agent: string
  readonly speech: Speech
  onChoose(speech: Speech): void
}

export function WayPicker({ agent, speech, onChoose }: PickerProps): ReactNode {
  const { talk } = useText()
  const card = useCard(agent)
  const ways = card.data && waysOf(card.data.choices)
  const [best] = card.data?.choices ?? []
  const chosen = speech.dialect === undefined ? '' : spellWay(speech)
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
        {ways ? ways.named.map(option) : chosen !== '' && option(speech)}
        {ways && ways.unnamed.length > 0 && <optgroup label={talk.notInCard}>{ways.unnamed.map(option)}</optgroup>}
      </select>
    </label>
  )
}

function option(way: Speech): ReactNode {
  return (
    <option key={spellWay(way)} value={spellWay(way)}>
      {spellWay(way)}
    </option>
  )
}
