import type { ReactNode } from 'react'
import { useText } from '../text/text.js'
import { Icon } from './icon.js'

interface DownloadProps {
  readonly filename: string
  readonly type: string
  readonly text: () => string
}

export function DownloadButton({ filename, type, text }: DownloadProps): ReactNode {
  const { common } = useText()
  return (
    <button
      type="button"
      className="button is-quiet is-small"
      onClick={() => download(new Blob([text()], { type }), filename)}
    >
      <Icon name="download" size={13} />
      {common.download}
    </button>
  )
}

export function download(blob: Blob, filename: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = filename
  link.click()
  URL.revokeObjectURL(url)
}
