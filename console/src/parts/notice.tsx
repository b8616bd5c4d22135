/** What stands where there is nothing to show: what is the matter, and what to do next. */
import type { ReactNode } from 'react'
import { ApiError } from '../link/api.js'
import type { Dictionary } from '../text/en.js'
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
  const text = useText()
  return (
    <Notice isBad title={text.common.failed} text={wordsOf(error, text)}>
      {onRetry && (
        <button type="button" className="button" onClick={onRetry}>
          {text.common.retry}
        </button>
      )}
    </Notice>
  )
}

/** What went wrong, beside what was done; nothing when nothing did. */
export function Problem({ error }: { readonly error: unknown }): ReactNode {
  const text = useText()
  if (error === undefined || error === null) return null
  return (
    <p className="problem-text break" role="alert">
      {wordsOf(error, text)}
    </p>
  )
}

/** Agents and servers speak for themselves; that nobody answers, the page has to say. */
function wordsOf(error: unknown, { lost }: Dictionary): string {
  if (error instanceof ApiError && error.status === 0) return lost.server
  return error instanceof Error ? error.message : String(error)
}
