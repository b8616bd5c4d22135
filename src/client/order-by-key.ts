/**
 * The order in which places are asked with a key: for each key another one, and the same in every process that knows
 * the same places. When a place comes or goes, only the keys that it takes or had move.
 */
export function orderByKey(key: string, addresses: readonly string[]): readonly number[] {
  const ranks = addresses.map((address) => hashOf(`${address} ${key}`))
  return [...addresses.keys()].sort((a, b) => (ranks[b] ?? 0) - (ranks[a] ?? 0))
}

/** FNV-1a, with its bits mixed once more: keys that differ in their last character end up far apart. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let place = 0; place < text.length; place++) hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
