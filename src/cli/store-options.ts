/** The options of commands that look after a store themselves, whether or not its agents run. */
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import type { Store } from '../engine/index.js'
import { openStore } from '../server/index.js'
import { UsageError } from './usage-error.js'

export interface StoreOptions {
  readonly store?: string
}

export function addStoreOption(command: Command): Command {
  return command.option(
    '--store <store>',
    'sqlite:PATH, postgres://USER@HOST/DATABASE, or file:DIR while no process uses it',
  )
}

/**
 * Opens a store that is there, as it is: one that would be made just now has nothing in it, and one that is brought up to
 * date may have servers at work that know the older one.
 */
export async function openGivenStore({ store }: StoreOptions): Promise<Store & AsyncDisposable> {
  if (store === undefined) throw new UsageError('name the store: --store sqlite:PATH or postgres://…')
  if (store === 'memory') throw new UsageError('--store: a store in memory is seen by its own process only')
  const [, path] = /^(?:sqlite|file):(.+)$/.exec(store) ?? []
  if (path !== undefined && !existsSync(path)) throw new UsageError(`--store: there is no ${path}`)
  try {
    const opened = await openStore(store, { mustExist: true })
    return Object.assign(opened, { [Symbol.asyncDispose]: () => opened.close() })
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(`--store: ${error.message}`)
    throw error
  }
}
