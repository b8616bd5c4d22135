/** The parts of a message or an artifact: text, images, files, data. */
import type { Part } from 'dragoman/client'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { send } from '../server/api.js'
import { useLanguage, useText } from '../text/text.js'
import { download } from './download-button.js'
import { formatBytes } from './format.js'
import { JsonTree } from './json-tree.js'

const Markdown = lazy(() => import('./markdown.js'))

/** Longer texts are not parsed at every chunk. */
const maxLiveMarkdown = 20_000

export function TextBlock({ text, isLive = false }: { readonly text: string; readonly isLive?: boolean }): ReactNode {
  if (isLive && text.length > maxLiveMarkdown) return <LongText text={text} />
  if (text.length > 200_000) return <LongText text={text} />
  return (
    <Suspense fallback={<div className="plain">{text}</div>}>
      <Markdown text={text} />
    </Suspense>
  )
}

const maxShown = 100_000

/** Longer live text shows only its end. */
function LongText({ text }: { readonly text: string }): ReactNode {
  const hidden = Math.max(0, text.length - maxShown)
  return (
    <div className="plain">
      {hidden > 0 && (
        <span className="faint">
          … {hidden.toLocaleString()} …{'\n'}
        </span>
      )}
      {text.slice(hidden)}
    </div>
  )
}

export function PartsView({ parts }: { readonly parts: readonly Part[] }): ReactNode {
  // Parts have no id, so the index is the key.
  return parts.map((part, place) => <PartView key={`${place}`} part={part} />)
}

export function PartView({ part }: { readonly part: Part }): ReactNode {
  if ('text' in part) return <TextBlock text={part.text} />
  if ('data' in part) return part.mediaType === 'application/schema+json' ? null : <JsonTree value={part.data} />
  return 'raw' in part ? <InlineFile part={part} /> : <LinkedFile part={part} />
}

/** Image types that a browser shows without running code. */
const pictures = /^image\/(png|jpeg|gif|webp|avif|bmp)$/

function InlineFile({ part }: { readonly part: Extract<Part, { raw: string }> }): ReactNode {
  const { common } = useText()
  const { language } = useLanguage()
  const { mediaType = 'application/octet-stream', filename = 'file' } = part
  const url = useObjectUrl(part.raw, mediaType)
  const isAudible = /^(audio|video)\//.test(mediaType)
  return (
    <div className="file">
      {pictures.test(mediaType) && url && <img src={url} alt={filename} />}
      {/* biome-ignore lint/a11y/useMediaCaption: agents send none */}
      {isAudible && url && <video src={url} controls height={mediaType.startsWith('audio/') ? 54 : 240} />}
      <span className="break">{filename}</span>
      <span className="badge">{mediaType}</span>
      <span className="faint small">{formatBytes(Math.floor((part.raw.length * 3) / 4), language)}</span>
      {url && (
        <a className="button is-small" href={url} download={filename}>
          {common.download}
        </a>
      )}
    </div>
  )
}

function LinkedFile({ part }: { readonly part: Extract<Part, { url: string }> }): ReactNode {
  const { talk } = useText()
  const [problem, setProblem] = useState<string>()
  const { url, filename, mediaType } = part
  // The server fetches the link, because its address rules protect the network.
  const fetchIt = async () => {
    const body = JSON.stringify({ url, filename, mediaType })
    const response = await send('api/file', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    if (response.ok) download(await response.blob(), filename ?? 'file')
    else setProblem(((await response.json()) as { error?: string }).error ?? '')
  }
  return (
    <div className="file">
      <span className="break">{filename ?? url}</span>
      <span className="badge">{mediaType ?? talk.linkedFile}</span>
      <button type="button" className="button is-small" onClick={() => void fetchIt()}>
        {talk.fetchFile}
      </button>
      {problem !== undefined && <span className="problem-text">{problem}</span>}
    </div>
  )
}

function useObjectUrl(raw: string, type: string): string | undefined {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const bytes = decoded(raw)
    if (!bytes) return
    // Other types are downloads: an HTML blob would have the origin of this page.
    const isShown = pictures.test(type) || /^(audio|video)\//.test(type)
    const made = URL.createObjectURL(new Blob([bytes], { type: isShown ? type : 'application/octet-stream' }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [raw, type])
  return url
}

function decoded(raw: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(raw), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
