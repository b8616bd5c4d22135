import { useQueryClient } from '@tanstack/react-query'
import type { CardView } from 'dragoman/console'
import { type ReactNode, useState } from 'react'
import { diffJson } from '../../model/diff-json.js'
import { useText } from '../../text/text.js'

/** Compares the card with other versions and with the card at the first visit. */
export function CardDiff({ agent, view }: { readonly agent: string; readonly view: CardView }): ReactNode {
  const { agents: labels } = useText()
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
        <span className="label">{labels.diffWith}</span>
        <select
          className="input"
          value={other}
          onChange={({ target }) => setOther(target.value as typeof other)} // the option values have this type
        >
          <option value="unversioned">{labels.diffUnversioned}</option>
          <option value="before">{labels.diffBefore}</option>
        </select>
      </label>
      {differences.length === 0 ? (
        <p className="soft">{labels.noDiff}</p>
      ) : (
        <div className="scrolls">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">{labels.field}</th>
                <th scope="col">{labels.before}</th>
                <th scope="col">{labels.after}</th>
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
