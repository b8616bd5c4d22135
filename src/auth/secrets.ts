/** Secrets that the operator listed, and whose they are. */
import type { Caller } from '../model/service.js'
import { callerNamed, type NamedCaller, type Verdict } from './scheme.js'

/** Callers by their keys or tokens. */
export type CallersBySecret = { readonly [secret: string]: NamedCaller }

export type SecretTable = (given: string) => Verdict

/**
 * Looks a secret up without telling by its time how much of it was right: every listed secret is compared in
 * its whole length, whatever was given. (A digest would do the same, and would have to be awaited.)
 */
export function secretTable(scheme: string, callers: Iterable<readonly [string, NamedCaller]>): SecretTable {
  const known: { readonly secret: string; readonly verdict: { readonly caller: Caller } }[] = []
  for (const [secret, named] of callers) known.push({ secret, verdict: { caller: callerNamed(scheme, named) } })
  if (known.length === 0 || known.some(({ secret }) => secret === ''))
    throw new TypeError(`${scheme} needs at least one secret, and none that is empty`)
  return (given) => {
    let found: Verdict = 'refused'
    for (const { secret, verdict } of known) if (isEqual(secret, given)) found = verdict
    return found
  }
}

function isEqual(secret: string, given: string): boolean {
  let difference = secret.length ^ given.length
  for (let place = 0; place < secret.length; place++) {
    difference |= secret.charCodeAt(place) ^ (given.charCodeAt(place) | 0) // beyond its end: 0
  }
  return difference === 0
}
