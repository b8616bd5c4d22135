import type { ReactNode } from 'react'
import { useSession } from '../link/link.js'
import { useText } from '../text/text.js'

interface PickerProps {
  readonly chosen: string | undefined
  readonly label?: string
  onChoose(ref: string): void
}

export function AgentPicker({ chosen, label, onChoose }: PickerProps): ReactNode {
  const { common } = useText()
  const session = useSession()
  const refs = (session.data?.agents ?? []).map(({ ref }) => ref)
  return (
    <label className="row">
      <span className="label">{label ?? common.agent}</span>
      <select className="input" value={chosen ?? ''} onChange={({ target }) => target.value && onChoose(target.value)}>
        <option value="">{common.chooseAgent}</option>
        {refs.map((ref) => (
          <option key={ref} value={ref}>
            {ref}
          </option>
        ))}
      </select>
    </label>
  )
}
