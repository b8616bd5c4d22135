import type { ReactNode } from 'react'
import { type NamedCard, useAgents } from '../server/agents.js'
import { useText } from '../text/text.js'

interface PickerProps {
  readonly chosen: string | undefined
  readonly label?: string
  /** Selects the agents to offer; all if absent. */
  isOffered?(agent: NamedCard): boolean
  onChoose(ref: string): void
}

/** Chooses an agent by name. */
export function AgentPicker({ chosen, label, isOffered, onChoose }: PickerProps): ReactNode {
  const { common } = useText()
  const agents = useAgents().filter((agent) => agent.ref === chosen || (isOffered?.(agent) ?? true))
  return (
    <label className="row picker">
      <span className="label">{label ?? common.agent}</span>
      <select
        className="input"
        value={chosen ?? ''}
        title={chosen}
        onChange={({ target }) => target.value && onChoose(target.value)}
      >
        {(chosen === undefined || !agents.some(({ ref }) => ref === chosen)) && (
          <option value="">{common.chooseAgent}</option>
        )}
        {agents.map((agent) => (
          <option key={agent.ref} value={agent.ref} title={agent.ref}>
            {labelOf(agent, agents)}
          </option>
        ))}
      </select>
    </label>
  )
}

/** Agents with equal names show their address too. */
function labelOf({ name, ref }: NamedCard, agents: readonly NamedCard[]): string {
  const isShared = agents.some((other) => other.name === name && other.ref !== ref)
  return isShared ? `${name} · ${ref.replace(/^https?:\/\/|\/$/g, '')}` : name
}
