import { useQueryClient } from '@tanstack/react-query'
import type { CardView } from 'dragoman/console'
import { type ReactNode, useState } from 'react'
import { diffJson } from '../../model/diff-json.js'
import { useText } from '../../text/text.js'

/** The card against what others see, and against what was seen before. */
export function CardDiff({ agent, view }: { readonly agent: string; readonly view: CardView }): ReactNode {
  const { agents: words } = useText()
  const queries = useQueryClient()
  const [other, setOther] = useState<'unversioned' | 'before'>('unversioned')
  const key = ['first-card', agent]
  if (queries.getQueryData(key) === undefined) queries.setQueryData(key, view.raw)
  const [before, after] =
    other === 'unversioned' ? [view.raw, view.unversioned ?? view.raw] : [queries.getQueryData(key), view.raw]
  const differences = diffJson(before, after)
  return (
    <div className="stack">
      <label className="row">
        <span className="label">{words.diffWith}</span>
        <select
          className="input"
          value={other}
          onChange={({ target }) => setOther(target.value as typeof other)} // the options are these two
        >
          <option value="unversioned">{words.diffUnversioned}</option>
          <option value="before">{words.diffBefore}</option>
        </select>
      </label>
      {differences.length === 0 ? (
        <p className="soft">{words.noDiff}</p>
      ) : (
        <div className="scrolls">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">{words.field}</th>
                <th scope="col">{words.before}</th>
                <th scope="col">{words.after}</th>
              </tr>
            </thead>
            <tbody>
              {differences.map(({ path, before: one, after: two }) => (
                <tr key={path}>
                  <td className="mono break">{path}</td>
                  <td className="mono break">{one === undefined ? '' : JSON.stringify(one)}</td>
                  <td className="mono break">{two === undefined ? '' : JSON.stringify(two)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  )
}
