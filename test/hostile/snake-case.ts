/** Renames the members of a request to those of the proto file, except inside open objects. */
const open: ReadonlySet<string> = new Set(['metadata', 'data'])

export function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [snake(name), open.has(name) ? member : snakeCased(member)]),
  )
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
