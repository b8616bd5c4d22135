import { type ReactNode, useEffect, useState } from 'react'
import { useLink } from '../../link/link.js'
import { Time } from '../../parts/time.js'
import { useText } from '../../text/text.js'

interface Change {
  readonly id: number
  readonly at: number
  readonly type: string
  readonly what: string
}

const mostChanges = 100

/** What happens in the registry, newest first, from the moment somebody looks. */
export function LiveChanges(): ReactNode {
  const { registry } = useText()
  const { tab } = useLink()
  const [changes, setChanges] = useState<readonly Change[]>([])
  useEffect(() => {
    let count = 0
    return tab.listen((event) => {
      if (!('registry' in event)) return
      const { type = '', namespace, name, state } = event.registry as Readonly<Record<string, string | undefined>>
      if (type === 'ready' || type === 'reset') return
      count += 1
      const what = [namespace && `${namespace}/${name}`, state].filter(Boolean).join(' ')
      const change = { id: count, at: Date.now(), type, what }
      setChanges((before) => [change, ...before].slice(0, mostChanges))
    })
  }, [tab])
  return (
    <section className="panel" aria-label={registry.live}>
      <header>
        <span className="dot pulse" />
        <h2>{registry.live}</h2>
      </header>
      <div className="body">
        {changes.length === 0 && <p className="soft small">{registry.liveEmpty}</p>}
        <ul className="stack" aria-live="polite">
          {changes.map(({ id, at, type, what }) => (
            <li key={id} className="row small appears">
              <span className="badge info">{type}</span>
              <span className="break grow">{what}</span>
              <span className="faint">
                <Time at={at} />
              </span>
            </li>
          ))}
        </ul>
      </div>
    </section>
  )
}
