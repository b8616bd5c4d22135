/** What the page has to know of the ways to speak to an agent. */
import type { Choice } from 'dragoman/client'
import type { Speech } from '../link/link.js'

/** Dialects that no card names: they are spoken where somebody says so. */
const unnamed = ['v0.1', 'task-rest', 'invoke', 'chat-rpc'] as const

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

/** Tasks can be asked for and canceled in every dialect but this one, which tells them once. */
export function hasTaskCalls(dialect: string | undefined): boolean {
  return dialect !== 'invoke'
}
