import { file, type Part, text as textPart } from 'dragoman/client'
import { type FormEvent, type KeyboardEvent, type ReactNode, useRef, useState } from 'react'
import { Icon } from '../../components/icon.js'
import type { Conversation } from '../../model/conversations.js'
import { useText } from '../../text/text.js'

interface ComposerProps {
  readonly conversation: Conversation
  readonly draft: string | undefined
}

export function Composer({ conversation, draft }: ComposerProps): ReactNode {
  const { talk, common } = useText()
  const [typed, setTyped] = useState(draft ?? '')
  const [isData, setData] = useState(false)
  const [files, setFiles] = useState<readonly File[]>([])
  const [problem, setProblem] = useState<string>()
  const picker = useRef<HTMLInputElement>(null)

  const send = async () => {
    const said = typed.trim()
    if (said === '' && files.length === 0) return
    let parts: Part[]
    try {
      parts = said === '' ? [] : [isData ? { data: JSON.parse(said), mediaType: 'application/json' } : textPart(typed)]
    } catch {
      setProblem(talk.notJson)
      return
    }
    const attached = await Promise.all(files.map(toPart))
    setTyped('')
    setFiles([])
    setProblem(undefined)
    await conversation.say([...parts, ...attached])
  }
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    void send()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // During composition, Enter belongs to the input method.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    void send()
  }
  return (
    <form className="composer" onSubmit={onSubmit}>
      <textarea
        className={`input${isData ? ' mono' : ''}`}
        aria-label={talk.message}
        placeholder={isData ? '{ }' : talk.placeholder}
        value={typed}
        rows={2}
        onChange={({ target }) => setTyped(target.value)}
        onKeyDown={onKeyDown}
      />
      {files.length > 0 && (
        <ul className="row" aria-label={talk.attachments}>
          {files.map((each) => (
            <li key={`${each.name} ${each.size}`} className="badge">
              {each.name}
              <button
                type="button"
                className="button is-quiet is-small"
                aria-label={`${common.remove} ${each.name}`}
                onClick={() => setFiles(files.filter((other) => other !== each))}
              >
                <Icon name="close" size={11} />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="row">
        <button
          type="button"
          className="button is-quiet"
          aria-label={talk.attach}
          title={talk.attach}
          onClick={() => picker.current?.click()}
        >
          <Icon name="clip" />
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label={talk.attach}
          onChange={({ target }) => {
            setFiles([...files, ...(target.files ?? [])])
            target.value = ''
          }}
        />
        <label className="check small">
          <input type="checkbox" checked={isData} onChange={({ target }) => setData(target.checked)} />
          {talk.data}
        </label>
        {problem !== undefined && <span className="problem-text">{problem}</span>}
        <span className="grow" />
        {(conversation.canCancel || conversation.isSending) && (
          <button type="button" className="button is-danger" onClick={() => void conversation.cancel()}>
            {conversation.isSending ? common.cancel : talk.cancelTask}
          </button>
        )}
        <button type="submit" className="button is-main" disabled={typed.trim() === '' && files.length === 0}>
          {common.send}
        </button>
      </div>
    </form>
  )
}

async function toPart(each: File): Promise<Part> {
  const bytes = new Uint8Array(await each.arrayBuffer())
  return file(bytes, { filename: each.name, mediaType: each.type || 'application/octet-stream' })
}
