/** Mutations of a JSON value: deletes, duplicates, renames, retypes, swaps or wraps a member. */
import fc from 'fast-check'
import { jsonValue } from './arbitraries.js'

type Json = unknown
type Damage = (parent: Record<string, Json> | Json[], key: string) => void

const damage: fc.Arbitrary<Damage> = fc.oneof(
  fc.constant<Damage>((parent, key) => {
    if (Array.isArray(parent)) parent.splice(Number(key), 1)
    else delete parent[key]
  }),
  fc.constant<Damage>((parent, key) => {
    if (Array.isArray(parent)) parent.push(structuredClone(parent[Number(key)]))
    else parent[`${key}2`] = structuredClone(parent[key])
  }),
  fc.constant<Damage>((parent, key) => set(parent, key, [get(parent, key)])),
  fc.constant<Damage>((parent, key) => set(parent, key, { [key]: get(parent, key) })),
  fc.constant<Damage>((parent, key) => set(parent, key, JSON.stringify(get(parent, key)))),
  fc.constant<Damage>((parent, key) => set(parent, key, null)),
  jsonValue().map(
    (value): Damage =>
      (parent, key) =>
        set(parent, key, value),
  ),
  fc.string().map(
    (name): Damage =>
      (parent, key) => {
        if (Array.isArray(parent) || name === '__proto__') return
        parent[name] = parent[key]
        delete parent[key]
      },
  ),
)

/** JSON text of one of the values, with one to three mutations at random places. */
export function damaged<T>(values: readonly T[], bodyOf: (value: T) => Json): fc.Arbitrary<readonly [T, string]> {
  const damages = fc.array(fc.tuple(fc.nat(), damage), { minLength: 1, maxLength: 3 })
  return fc.tuple(fc.constantFrom(...values), damages).map(([value, chosen]) => {
    const copy: Json = structuredClone(bodyOf(value))
    for (const [at, apply] of chosen) {
      const places = placesIn(copy)
      const place = places[at % places.length]
      if (place) apply(...place)
    }
    return [value, JSON.stringify(copy)] as const
  })
}

type Place = readonly [parent: Record<string, Json> | Json[], key: string]

function placesIn(value: Json): readonly Place[] {
  if (typeof value !== 'object' || value === null) return []
  const parent = value as Place[0]
  return Object.keys(parent).flatMap((key) => [[parent, key] as const, ...placesIn(get(parent, key))])
}

function get(parent: Place[0], key: string): Json {
  return Array.isArray(parent) ? parent[Number(key)] : parent[key]
}

function set(parent: Place[0], key: string, value: Json): void {
  if (Array.isArray(parent)) parent[Number(key)] = value
  else parent[key] = value
}
