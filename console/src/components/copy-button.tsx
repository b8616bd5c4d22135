import { type ReactNode, useState } from 'react'
import { useText } from '../text/text.js'
import { Icon } from './icon.js'

interface CopyProps {
  readonly text: string | (() => string)
  readonly label?: string
}

export function CopyButton({ text, label }: CopyProps): ReactNode {
  const { common } = useText()
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
    setCopied(true)
    setTimeout(() => setCopied(false), 1500)
  }
  return (
    <button type="button" className="button is-quiet is-small" onClick={() => void copy()}>
      <Icon name="copy" size={13} />
      <span aria-live="polite">{isCopied ? common.copied : (label ?? common.copy)}</span>
    </button>
  )
}
