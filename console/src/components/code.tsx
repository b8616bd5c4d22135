import type { ReactNode } from 'react'
import { CopyButton } from './copy-button.js'

/** Preformatted text with a copy button. */
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
