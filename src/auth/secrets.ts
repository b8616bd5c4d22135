/** Secrets that the operator listed, and whose they are. */
import { hash, randomBytes } from 'node:crypto'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import type { Caller } from '../model/service.js'
import { callerNamed, type NamedCaller, type Verdict } from './scheme.js'

/** Callers by their keys or tokens. */
export type CallersBySecret = { readonly [secret: string]: NamedCaller }

const callerNames = { id: true, scopes: true } satisfies NamesOf<Exclude<NamedCaller, string>>

export type SecretTable = (given: string) => Verdict

/**
 * Looks a secret up without telling by its time how much of it was right, however many there are: what is looked up
 * is a digest that nobody outside can foresee, because it begins with a key of this process. (It never leaves the
 * process, so that plain hashing of both is as good as HMAC, and a quarter of its time.)
 */
export function secretTable(scheme: string, callers: Iterable<readonly [string, NamedCaller]>): SecretTable {
  const known = new Map<string, { readonly caller: Caller }>()
  for (const [secret, named] of callers) {
    if (typeof named === 'object') assertOptions(`a caller in ${scheme}`, named, callerNames)
    known.set(digestOf(secret), { caller: callerNamed(scheme, named) })
  }
  if (known.size === 0 || known.has(digestOf('')))
    throw new TypeError(`${scheme} needs at least one secret, and none that is empty`)
  return (given) => known.get(digestOf(given)) ?? 'refused'
}

const processKey = randomBytes(32).toString('base64')

export function digestOf(secret: string): string {
  return hash('sha256', processKey + secret, 'base64')
}
