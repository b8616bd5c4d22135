// What goes from the outline agent to the document agent.

/** @typedef {{ title: string, brief?: string, points: string[] }} Section */
/** @typedef {{ topic: string, title: string, sections: Section[] }} Outline */

const maxSections = 40
const maxPoints = 20

/** Reads an outline of anybody's making: sections may be plain titles. Undefined when it is none.
 * @param {unknown} value
 * @returns {Outline | undefined}
 */
export function readOutline(value) {
  if (!isObject(value) || !Array.isArray(value.sections)) return undefined
  const sections = value.sections.slice(0, maxSections).flatMap((each) => readSection(each) ?? [])
  if (sections.length === 0) return undefined
  const named = line(value.title) ?? line(value.topic)
  const title = named ?? sections[0]?.title ?? ''
  return { topic: line(value.topic) ?? title, title, sections }
}

/** @param {unknown} value @returns {Section | undefined} */
function readSection(value) {
  const title = line(value) ?? (isObject(value) ? (line(value.title) ?? line(value.heading)) : undefined)
  if (title === undefined) return undefined
  if (!isObject(value)) return { title, points: [] }
  const points = Array.isArray(value.points) ? value.points.slice(0, maxPoints).flatMap((each) => line(each) ?? []) : []
  const brief = line(value.brief)
  return { title, ...(brief !== undefined && { brief }), points }
}

/** Text on one line and of a sane length.
 * @param {unknown} value
 */
function line(value) {
  if (typeof value !== 'string') return undefined
  const text = value.replace(/\s+/g, ' ').trim().slice(0, 300)
  return text === '' ? undefined : text
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
function isObject(value) {
  return typeof value === 'object' && value !== null
}
