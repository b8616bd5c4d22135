/** What the page has to know of the ways to speak to an agent. */
import type { Choice } from 'dragoman/client'
import { clientDialects, hasTasks } from 'dragoman/dialects'
import type { Speech } from '../link/link.js'

/** Dialects that cards do not list: the client speaks them where the user says so. */
const unnamed = clientDialects.flatMap(({ name, isListed }) => (isListed ? [] : [name]))

export interface Ways {
  readonly named: readonly Speech[]
  /** An agent may speak them all the same. */
  readonly unnamed: readonly Speech[]
}

export function waysOf(choices: readonly Choice[]): Ways {
  const named = choices.map(({ dialect, binding }): Speech => ({ dialect, binding }))
  return {
    named,
    unnamed: unnamed.filter((dialect) => !named.some((way) => way.dialect === dialect)).map((dialect) => ({ dialect })),
  }
}

export function spellWay({ dialect = '', binding = '' }: Speech): string {
  return binding === '' ? dialect : `${dialect} ${binding}`
}

/** Whether tasks can be read and canceled later; unknown dialects count as if they could. */
export function hasTaskCalls(dialect: string | undefined): boolean {
  const spoken = clientDialects.find(({ name }) => name === dialect)
  return spoken === undefined || hasTasks(spoken)
}
