/** Any JSON as a tree; what is wrong with a member stands beside it. */
import { type ReactNode, useState } from 'react'

export interface Trouble {
  readonly path: string
  readonly severity: 'error' | 'warning'
  readonly message: string
}

interface TreeProps {
  readonly value: unknown
  readonly troubles?: readonly Trouble[]
  /** Levels that are open at first. */
  readonly depth?: number
}

export function JsonTree({ value, troubles = [], depth = 2 }: TreeProps): ReactNode {
  return (
    <div className="tree">
      <Troubles troubles={troubles} path="" />
      <Value value={value} path="" troubles={troubles} depth={depth} />
    </div>
  )
}

interface NodeProps extends Required<TreeProps> {
  readonly path: string
  readonly name?: string
}

const mostMembers = 200

function Value({ value, path, troubles, depth, name }: NodeProps): ReactNode {
  const isBranch = typeof value === 'object' && value !== null
  const hasTrouble = troubles.some((each) => each.path.startsWith(path))
  const [isOpen, setOpen] = useState(depth > 0 || (hasTrouble && path !== ''))
  const [shown, setShown] = useState(mostMembers)
  const label = name !== undefined && <span className="key">{name}: </span>
  if (!isBranch)
    return (
      <span>
        {label}
        <Leaf value={value} />
      </span>
    )
  const members: [string, unknown][] = Object.entries(value)
  const isList = Array.isArray(value)
  if (members.length === 0)
    return (
      <span>
        {label}
        {isList ? '[]' : '{}'}
      </span>
    )
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {label}
        <span className="faint">{isList ? `[${members.length}]` : `{${members.length}}`}</span>
      </summary>
      {isOpen && (
        <ul>
          {members.slice(0, shown).map(([key, member]) => {
            const place = isList ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
            return (
              <li key={key}>
                <Value value={member} path={place} troubles={troubles} depth={depth - 1} name={key} />
                <Troubles troubles={troubles} path={place} />
              </li>
            )
          })}
          <Missing troubles={troubles} path={path} members={members} isList={isList} />
          {members.length > shown && (
            <li>
              <button type="button" className="button is-small" onClick={() => setShown(shown * 4)}>
                … {members.length - shown}
              </button>
            </li>
          )}
        </ul>
      )}
    </details>
  )
}

/** Troubles with members that are not there stand where those would be. */
function Missing({
  troubles,
  path,
  members,
  isList,
}: Pick<NodeProps, 'troubles' | 'path'> & {
  readonly members: readonly [string, unknown][]
  readonly isList: boolean
}): ReactNode {
  if (isList) return null
  const prefix = path === '' ? '' : `${path}.`
  const absent = troubles.filter((each) => {
    const rest = each.path.startsWith(prefix) ? each.path.slice(prefix.length) : ''
    return rest !== '' && !/[.[]/.test(rest) && !members.some(([key]) => key === rest)
  })
  return absent.map((each) => (
    <li key={each.path + each.message}>
      <span className="key">{each.path.slice(prefix.length)}: </span>
      <Troubles troubles={[each]} path={each.path} />
    </li>
  ))
}

function Troubles({ troubles, path }: Pick<NodeProps, 'troubles' | 'path'>): ReactNode {
  return troubles
    .filter((each) => each.path === path)
    .map(({ message, severity }) => (
      <span key={message} className={`trouble ${severity}`}>
        {message}
      </span>
    ))
}

function Leaf({ value }: { readonly value: unknown }): ReactNode {
  if (typeof value === 'string') return <span className="string">{JSON.stringify(value).slice(0, 20_000)}</span>
  if (typeof value === 'number') return <span className="number">{value}</span>
  return <span className="word">{String(value)}</span>
}
