/** Secrets that the operator listed, and whose they are. */
import { hash, randomBytes } from 'node:crypto'
import { assertOptions, describeValue, type NamesOf } from '../model/option-names.js'
import type { Caller } from '../model/service.js'
import { callerNamed, type NamedCaller, type Verdict } from './scheme.js'

/** Callers by their keys or tokens. */
export type CallersBySecret = { readonly [secret: string]: NamedCaller }

const callerNames = { id: true, scopes: true } satisfies NamesOf<Exclude<NamedCaller, string>>

/** The callers by their secrets, of one secret or an object. A missing secret is often an unset environment variable. */
export function callersIn(owner: string, given: string | CallersBySecret, caller: string): CallersBySecret {
  if (typeof given === 'string') return { [given]: caller }
  if (typeof given !== 'object' || given === null || Array.isArray(given) || given instanceof Promise)
    throw new TypeError(
      `${owner} needs a secret, or an object with callers by their secrets; got ${describeValue(given)}`,
    )
  return given
}

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
  // The name of a member that was computed from an unset variable: `{ [process.env.KEY]: 'ann' }`.
  if (known.has(digestOf('undefined'))) throw new TypeError(`${scheme} needs a secret; got undefined`)
  return (given) => known.get(digestOf(given)) ?? 'refused'
}

const processKey = randomBytes(32).toString('base64')

export function digestOf(secret: string): string {
  return hash('sha256', processKey + secret, 'base64')
}
