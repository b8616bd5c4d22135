import { type ReactNode, useEffect, useState } from 'react'
import { Time } from '../../components/time.js'
import { useConsole } from '../../server/console-context.js'
import type { Messages } from '../../text/en.js'
import { useText } from '../../text/text.js'

interface Change {
  readonly id: number
  readonly at: number
  readonly type: keyof Messages['registry']['changes']
  readonly what: string
  readonly state: keyof Messages['registry']['health'] | undefined
}

const maxChanges = 100

/** Changes in the registry since the screen was opened, newest first. */
export function LiveChanges(): ReactNode {
  const { registry } = useText()
  const { tab } = useConsole()
  const [changes, setChanges] = useState<readonly Change[]>([])
  useEffect(() => {
    let count = 0
    return tab.listen((event) => {
      if (!('registry' in event)) return
      const { type = '', namespace, name, state } = event.registry as Readonly<Record<string, string | undefined>>
      if (!(type in registry.changes)) return
      count += 1
      const what = namespace === undefined ? '' : `${namespace}/${name}`
      const change = { id: count, at: Date.now(), type: type as Change['type'], what, state: state as Change['state'] }
      setChanges((before) => [change, ...before].slice(0, maxChanges))
    })
  }, [tab, registry.changes])
  return (
    <section className="panel" aria-label={registry.live}>
      <header>
        <span className="dot pulse" />
        <h2>{registry.live}</h2>
      </header>
      <div className="body">
        {changes.length === 0 && <p className="soft small">{registry.liveEmpty}</p>}
        <ul className="stack" aria-live="polite">
          {changes.map(({ id, at, type, what, state }) => (
            <li key={id} className="row small appears">
              <span className="badge info">{registry.changes[type]}</span>
              <span className="break grow">
                {what} {state !== undefined && registry.health[state]}
              </span>
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
