/** Chooses dialect and binding: negotiated, one of the card's, or a dialect that is not in the card. */
import type { ReactNode } from 'react'
import { formatProtocol, interfacesOf } from '../model/dialects.js'
import { useCard } from '../server/agents.js'
import type { Protocol } from '../server/console-context.js'
import { useText } from '../text/text.js'

interface PickerProps {
  readonly agent: string
  readonly protocol: Protocol
  onChoose(protocol: Protocol): void
}

export function InterfacePicker({ agent, protocol, onChoose }: PickerProps): ReactNode {
  const { talk } = useText()
  const card = useCard(agent)
  const ways = card.data && interfacesOf(card.data.choices)
  const [best] = card.data?.choices ?? []
  const chosen = protocol.dialect === undefined ? '' : formatProtocol(protocol)
  return (
    <label className="row small soft">
      <span className="hidden-text">{talk.protocol}</span>
      <select
        className="input"
        value={chosen}
        onChange={({ target }) => {
          const [dialect, binding] = target.value.split(' ')
          onChoose(dialect ? { dialect, ...(binding && { binding }) } : {})
        }}
      >
        <option value="">{best ? `${talk.negotiated}: ${best.dialect} ${best.binding}` : talk.negotiated}</option>
        {ways ? ways.named.map(option) : chosen !== '' && option(protocol)}
        {ways && ways.unnamed.length > 0 && <optgroup label={talk.notInCard}>{ways.unnamed.map(option)}</optgroup>}
      </select>
    </label>
  )
}

function option(way: Protocol): ReactNode {
  return (
    <option key={formatProtocol(way)} value={formatProtocol(way)}>
      {formatProtocol(way)}
    </option>
  )
}
