/** Facts about dialects that the page needs. */
import type { Choice } from 'dragoman/client'
import { clientDialects, hasTasks } from 'dragoman/dialects'
import type { Protocol } from '../server/console-context.js'

/** Dialects that no card lists; users choose them explicitly. */
const unnamed = clientDialects.flatMap(({ name, isListed }) => (isListed ? [] : [name]))

export interface AgentInterfaces {
  readonly named: readonly Protocol[]
  /** Not in the card, but possibly supported. */
  readonly unnamed: readonly Protocol[]
}

export function interfacesOf(choices: readonly Choice[]): AgentInterfaces {
  const named = choices.map(({ dialect, binding }): Protocol => ({ dialect, binding }))
  return {
    named,
    unnamed: unnamed
      .filter((dialect) => !named.some((protocol) => protocol.dialect === dialect))
      .map((dialect) => ({ dialect })),
  }
}

export function formatProtocol({ dialect = '', binding = '' }: Protocol): string {
  return binding === '' ? dialect : `${dialect} ${binding}`
}

/** Whether the dialect can get and cancel tasks; true for unknown dialects. */
export function hasTaskCalls(dialect: string | undefined): boolean {
  const found = clientDialects.find(({ name }) => name === dialect)
  return found === undefined || hasTasks(found)
}
