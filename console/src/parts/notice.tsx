/** What stands where there is nothing to show: what is the matter, and what to do next. */
import type { ReactNode } from 'react'
import { useText } from '../text/text.js'

interface NoticeProps {
  readonly title: string
  readonly text?: ReactNode
  readonly isBad?: boolean
  readonly children?: ReactNode
}

export function Notice({ title, text, isBad = false, children }: NoticeProps): ReactNode {
  return (
    <div className={`notice appears${isBad ? ' is-bad' : ''}`} role={isBad ? 'alert' : undefined}>
      <h2>{title}</h2>
      {text !== undefined && <p className="break">{text}</p>}
      {children}
    </div>
  )
}

export function Loading(): ReactNode {
  const { common } = useText()
  return (
    <div className="notice" role="status">
      <span className="spinner" />
      <span className="hidden-text">{common.loading}</span>
    </div>
  )
}

export function Failure({ error, onRetry }: { readonly error: unknown; readonly onRetry?: () => void }): ReactNode {
  const { common } = useText()
  return (
    <Notice isBad title={common.failed} text={error instanceof Error ? error.message : String(error)}>
      {onRetry && (
        <button type="button" className="button" onClick={onRetry}>
          {common.retry}
        </button>
      )}
    </Notice>
  )
}
