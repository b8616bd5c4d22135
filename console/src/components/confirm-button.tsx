import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useText } from '../text/text.js'

interface ConfirmProps {
  readonly label: string
  /** Describes the action, as a question. */
  readonly question: string
  readonly isBusy?: boolean
  onConfirm(): void
}

/** For actions that cannot be undone: the first click asks, the second confirms. */
export function ConfirmButton({ label, question, isBusy = false, onConfirm }: ConfirmProps): ReactNode {
  const { common } = useText()
  const [isAsking, setAsking] = useState(false)
  const keep = useRef<HTMLButtonElement>(null)
  // A second Enter must not confirm by accident.
  useEffect(() => {
    if (isAsking) keep.current?.focus()
  }, [isAsking])
  if (!isAsking)
    return (
      <button type="button" className="button is-danger is-small" disabled={isBusy} onClick={() => setAsking(true)}>
        {label}
      </button>
    )
  return (
    <span
      className="confirm row appears"
      role="group"
      aria-label={question}
      onKeyDown={({ key }) => {
        if (key === 'Escape') setAsking(false)
      }}
    >
      <span>{question}</span>
      <button
        type="button"
        className="button is-danger is-small is-filled"
        onClick={() => {
          setAsking(false)
          onConfirm()
        }}
      >
        {label}
      </button>
      <button ref={keep} type="button" className="button is-small" onClick={() => setAsking(false)}>
        {common.keep}
      </button>
    </span>
  )
}
