import type { ReactNode } from 'react'
import { useLanguage } from '../text/text.js'

/** The time of day, with the full timestamp as title. */
export function Time({ at }: { readonly at: string | number }): ReactNode {
  const { language } = useLanguage()
  const time = new Date(at)
  if (Number.isNaN(time.getTime())) return null
  const isToday = time.toDateString() === new Date().toDateString()
  return (
    <time dateTime={time.toISOString()} title={time.toISOString()}>
      {isToday
        ? time.toLocaleTimeString(language, { hour12: false })
        : time.toLocaleString(language, { hour12: false })}
    </time>
  )
}
