// The outline that the outline agent sends to the document agent. Both are type aliases, because interfaces are not
// assignable to `JsonValue`, which `data()` takes.

export type Section = {
  readonly title: string
  readonly brief?: string
  readonly points: readonly string[]
}

export type Outline = {
  readonly topic: string
  readonly title: string
  readonly sections: readonly Section[]
}

const maxSections = 40
const maxPoints = 20

/** Reads an outline from any sender; sections may be plain titles. Returns undefined if the value is not an outline. */
export function readOutline(value: unknown): Outline | undefined {
  if (!isObject(value) || !Array.isArray(value.sections)) return undefined
  const sections = value.sections.slice(0, maxSections).flatMap((each) => readSection(each) ?? [])
  if (sections.length === 0) return undefined
  const named = line(value.title) ?? line(value.topic)
  const title = named ?? sections[0]?.title ?? ''
  return { topic: line(value.topic) ?? title, title, sections }
}

function readSection(value: unknown): Section | undefined {
  const title = line(value) ?? (isObject(value) ? (line(value.title) ?? line(value.heading)) : undefined)
  if (title === undefined) return undefined
  if (!isObject(value)) return { title, points: [] }
  const points = Array.isArray(value.points) ? value.points.slice(0, maxPoints).flatMap((each) => line(each) ?? []) : []
  const brief = line(value.brief)
  return { title, ...(brief !== undefined && { brief }), points }
}

/** Returns the text on one line, at most 300 characters of it. */
function line(value: unknown) {
  if (typeof value !== 'string') return undefined
  const text = value.replace(/\s+/g, ' ').trim().slice(0, 300)
  return text === '' ? undefined : text
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
