/** Shows JSON as a tree, with faults beside the members that have them. */
import { type ReactNode, useState } from 'react'

export interface Fault {
  readonly path: string
  readonly severity: 'error' | 'warning'
  readonly message: string
}

interface TreeProps {
  readonly value: unknown
  readonly faults?: readonly Fault[]
  /** Number of levels that are open at first. */
  readonly depth?: number
}

export function JsonTree({ value, faults = [], depth = 2 }: TreeProps): ReactNode {
  return (
    <div className="tree">
      <Faults faults={faults} path="" />
      <Value value={value} path="" faults={faults} depth={depth} />
    </div>
  )
}

interface NodeProps extends Required<TreeProps> {
  readonly path: string
  readonly name?: string
}

const maxMembers = 200

function Value({ value, path, faults, depth, name }: NodeProps): ReactNode {
  const isBranch = typeof value === 'object' && value !== null
  const hasFault = faults.some((each) => each.path.startsWith(path))
  const [isOpen, setOpen] = useState(depth > 0 || (hasFault && path !== ''))
  const [shown, setShown] = useState(maxMembers)
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
                <Value value={member} path={place} faults={faults} depth={depth - 1} name={key} />
                <Faults faults={faults} path={place} />
              </li>
            )
          })}
          <Missing faults={faults} path={path} members={members} isList={isList} />
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

/** Faults of missing members, at the place of the member. */
function Missing({
  faults,
  path,
  members,
  isList,
}: Pick<NodeProps, 'faults' | 'path'> & {
  readonly members: readonly [string, unknown][]
  readonly isList: boolean
}): ReactNode {
  if (isList) return null
  const prefix = path === '' ? '' : `${path}.`
  const absent = faults.filter((each) => {
    const rest = each.path.startsWith(prefix) ? each.path.slice(prefix.length) : ''
    return rest !== '' && !/[.[]/.test(rest) && !members.some(([key]) => key === rest)
  })
  return absent.map((each) => (
    <li key={each.path + each.message}>
      <span className="key">{each.path.slice(prefix.length)}: </span>
      <Faults faults={[each]} path={each.path} />
    </li>
  ))
}

function Faults({ faults, path }: Pick<NodeProps, 'faults' | 'path'>): ReactNode {
  return faults
    .filter((each) => each.path === path)
    .map(({ message, severity }) => (
      <span key={message} className={`fault ${severity}`}>
        {message}
      </span>
    ))
}

function Leaf({ value }: { readonly value: unknown }): ReactNode {
  if (typeof value === 'string') return <span className="string">{JSON.stringify(value).slice(0, 20_000)}</span>
  if (typeof value === 'number') return <span className="number">{value}</span>
  return <span className="word">{String(value)}</span>
}
