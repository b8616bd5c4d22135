/** The parts of a question: its columns, settings, entries and budgets. */
import type { TargetName } from '../servers/targets.ts'

/** One value for each column key. A value that the system cannot measure is absent. */
export type Figures = Readonly<Record<string, number | undefined>>

export interface Column {
  readonly key: string
  readonly title: string
  /** Digits after the decimal point. Default 0. */
  readonly digits?: number
  /** Whether the value is a share from 0 to 1, shown in percent. */
  readonly isShare?: boolean
}

/** One row of the table: a server and the way to measure it. */
export interface Entry {
  readonly id: string
  readonly server: TargetName
  /** Default: the title of the server. */
  readonly title?: string
  measure(): Promise<Figures>
}

/** A goal for one value. Exactly one of the three bounds is set. */
export interface Budget {
  readonly what: string
  /** NaN when the value was not measured. */
  readonly value: number
  readonly unit: string
  readonly atLeast?: number
  readonly atMost?: number
  readonly below?: number
}

/** The figures of all rounds, for budgets. */
export interface Results {
  /** The median of one column of one entry; NaN when it was not measured. */
  median(entryId: string, key: string): number
  /**
   * The median of `entryId` ÷ `otherId` over the rounds; both values of a ratio are from the same round. NaN when one
   * of them was not measured.
   */
  ratio(entryId: string, otherId: string, key: string): number
}

export type Settings = Readonly<Record<string, number>>

export interface Question<S extends Settings = Settings> {
  readonly name: string
  readonly title: string
  readonly rounds: { readonly full: number; readonly quick: number }
  /** Whether `--quick` leaves the question out, unless `--only` names it. Default false. */
  readonly isLong?: boolean
  readonly columns: readonly Column[]
  settings(run: { readonly isQuick: boolean }): S
  entries(settings: S): Entry[]
  budgets(results: Results, settings: S): Budget[]
  /** Releases what the entries share. Called after the last round. */
  finish?(): Promise<void>
}

/** Infers the type of the settings from `settings`, so that `entries` and `budgets` see their members. */
export function defineQuestion<S extends Settings>(question: Question<S>): Question {
  return question
}
