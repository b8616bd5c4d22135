/** Explains an empty place or a failure, with an optional next action. */
import type { ReactNode } from 'react'
import { problemCode } from '../model/problem-code.js'
import { ApiError } from '../server/api.js'
import { describeProblem } from '../text/problems.js'
import { useLanguage, useText } from '../text/text.js'

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
  const message = useMessageOf(error)
  return (
    <Notice isBad title={common.failed} text={message}>
      {onRetry && (
        <button type="button" className="button" onClick={onRetry}>
          {common.retry}
        </button>
      )}
    </Notice>
  )
}

/** An error message beside the action that failed; renders nothing without an error. */
export function Problem({ error }: { readonly error: unknown }): ReactNode {
  const message = useMessageOf(error)
  if (error === undefined || error === null) return null
  return (
    <p className="problem-text break" role="alert">
      {message}
    </p>
  )
}

/** The server's own message, or the page's message if the server does not answer. */
function useMessageOf(error: unknown): string {
  const { text, language } = useLanguage()
  if (error instanceof ApiError && error.status === 0) return text.connection.server
  return describeProblem(language, problemCode(error), error instanceof Error ? error.message : String(error))
}
