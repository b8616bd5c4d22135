/**
 * A value of a card and its path. Cards are untrusted: this code relies on no type, length or depth, and quotes from a
 * card are shortened and escaped.
 */
import { isObject } from '../../model/is-object.js'

const maxEntries = 500
const maxNameLength = 80

export class Place {
  readonly value: unknown
  readonly path: string
  readonly #findings: Findings

  constructor(value: unknown, path: string, findings: Findings) {
    this.value = value
    this.path = path
    this.#findings = findings
  }

  /** `null` counts as absent (R-JSON-8). */
  get isAbsent(): boolean {
    return this.value === undefined || this.value === null
  }

  /** The member of that name; absent if this is not an object. */
  at(name: string): Place {
    const member = isObject(this.value) && Object.hasOwn(this.value, name) ? this.value[name] : undefined
    return new Place(member, this.#below(name), this.#findings)
  }

  has(name: string): boolean {
    return !this.at(name).isAbsent
  }

  /** The elements of an array; empty if this is not an array. */
  elements(): readonly Place[] {
    if (!Array.isArray(this.value)) return []
    return this.#few(this.value.length).map((place) => {
      const element = (this.value as unknown[])[place] // it is an array
      return new Place(element, `${this.path}[${place}]`, this.#findings)
    })
  }

  /** The members of an object that is used as a map; empty if this is not an object. */
  members(): readonly (readonly [name: string, Place])[] {
    if (!isObject(this.value)) return []
    const names = Object.keys(this.value)
    return this.#few(names.length).map((place) => {
      const name = names[place] as string // the index is below the length
      return [name, this.at(name)]
    })
  }

  error(requirement: string, message: string): void {
    this.#add('error', requirement, message)
  }

  warn(requirement: string, message: string): void {
    this.#add('warning', requirement, message)
  }

  #add(severity: Severity, requirement: string, message: string): void {
    this.#findings.add({ severity, path: this.path, requirement, message })
  }

  #few(length: number): number[] {
    if (length > maxEntries) this.warn('R-SEC-5', `has ${length} entries; only the first ${maxEntries} were checked`)
    return Array.from({ length: Math.min(length, maxEntries) }, (_, place) => place)
  }

  #below(name: string): string {
    if (!/^[A-Za-z_$][\w$-]{0,79}$/.test(name)) return `${this.path}[${quote(name)}]`
    return this.path === '' ? name : `${this.path}.${name}`
  }
}

/** Text from a card, safe to print on one line. */
export function quote(text: string): string {
  const quoted = JSON.stringify(text.length > maxNameLength ? `${text.slice(0, maxNameLength)}…` : text)
  // Line separators and direction marks are valid in JSON but change how the surrounding text is printed.
  return quoted.replace(/[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** The version that a card is written in. */
export type CardVersion = 'v1' | 'v0.3' | 'v0.2' | 'v0.1' | 'hybrid' | 'unknown'

/** An error breaks a MUST of the protocol, a warning a SHOULD. */
export type Severity = 'error' | 'warning'

/** One rule that a card breaks. */
export interface CardProblem {
  readonly severity: Severity
  /** A JSON path such as `skills[0].id`; empty for the card itself. */
  readonly path: string
  /** The id of the rule, such as `R-CARD-2`. */
  readonly requirement: string
  readonly message: string
}

/** The result of `validateCard`. */
export interface CardReport {
  /** The version the card is written in; `hybrid`: v1.0 and 0.3 in one. */
  readonly version: CardVersion
  readonly problems: readonly CardProblem[]
  /** Whether there are no errors. Warnings do not count. */
  readonly isValid: boolean
}

const maxProblems = 100

/** Collects problems, up to a limit. */
export class Findings {
  readonly #problems: CardProblem[] = []
  hasErrors = false

  add(problem: CardProblem): void {
    const isError = problem.severity === 'error'
    this.hasErrors ||= isError
    if (this.#problems.some((known) => isSame(known, problem))) return
    if (this.#problems.length >= maxProblems) {
      // An error replaces the last warning when the limit is reached, so that a card with errors shows one.
      const place = isError ? this.#problems.findLastIndex(({ severity }) => severity === 'warning') : -1
      if (place < 0) return
      this.#problems.splice(place, 1)
    }
    this.#problems.push(problem)
  }

  report(version: CardVersion): CardReport {
    return { version, problems: this.#problems, isValid: !this.hasErrors }
  }
}

/** Two rules may report the same problem at one path. */
function isSame(one: CardProblem, other: CardProblem): boolean {
  return one.path === other.path && one.requirement === other.requirement && one.message === other.message
}
