/** What stands where there is nothing to show: what is the matter, and what to do next. */
import type { ReactNode } from 'react'
import { ApiError } from '../link/api.js'
import { problemCode } from '../model/problem-code.js'
import { tellProblem } from '../text/problems.js'
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
  const words = useWordsOf(error)
  return (
    <Notice isBad title={common.failed} text={words}>
      {onRetry && (
        <button type="button" className="button" onClick={onRetry}>
          {common.retry}
        </button>
      )}
    </Notice>
  )
}

/** What went wrong, beside what was done; nothing when nothing did. */
export function Problem({ error }: { readonly error: unknown }): ReactNode {
  const words = useWordsOf(error)
  if (error === undefined || error === null) return null
  return (
    <p className="problem-text break" role="alert">
      {words}
    </p>
  )
}

/** Agents and servers speak for themselves; that nobody answers, the page has to say. */
function useWordsOf(error: unknown): string {
  const { text, language } = useLanguage()
  if (error instanceof ApiError && error.status === 0) return text.lost.server
  return tellProblem(language, problemCode(error), error instanceof Error ? error.message : String(error))
}
