import type { ReactNode } from 'react'
import { CopyButton } from './copy-button.js'

/** Text as it is, with a way to take it along. */
export function Code({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  return (
    <div className="code">
      <pre tabIndex={0} role="group" aria-label={label}>
        {text}
      </pre>
      <CopyButton text={text} />
    </div>
  )
}
