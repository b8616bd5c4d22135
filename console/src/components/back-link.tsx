import type { ReactNode } from 'react'
import { hrefTo } from '../route.js'
import { useText } from '../text/text.js'
import { Icon } from './icon.js'

interface BackProps {
  readonly to: readonly string[]
  readonly query?: Readonly<Record<string, string | undefined>>
}

/** Link to the list, for narrow windows that show only the chosen entry. */
export function BackLink({ to, query = {} }: BackProps): ReactNode {
  const { common } = useText()
  return (
    <a className="back button is-small is-quiet" href={hrefTo(to, query)}>
      <Icon name="back" size={13} />
      {common.back}
    </a>
  )
}
