/** What is wrong with a card, and where. */

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

const mostProblems = 100

/** Collects problems, up to a number that somebody may still want to read. */
export class Findings {
  readonly #problems: CardProblem[] = []
  hasErrors = false

  add(problem: CardProblem): void {
    const isError = problem.severity === 'error'
    this.hasErrors ||= isError
    if (this.#problems.some((known) => isSame(known, problem))) return
    if (this.#problems.length >= mostProblems) {
      // A card with errors shows one, however many warnings came first.
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

/** Two rules may look at one place and see the same. */
function isSame(one: CardProblem, other: CardProblem): boolean {
  return one.path === other.path && one.requirement === other.requirement && one.message === other.message
}
