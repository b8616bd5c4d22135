/** Computes medians and spreads from the values of the rounds. */
import type { Column } from '../questions/question.ts'
import type { Outcome } from '../rounds.ts'

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** By column key. A column without a value in any round is absent. */
export type Summary = Readonly<Record<string, Spread>>

/** NaN for an empty list. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** The value below which the given part (0 to 1) of the numbers lies; NaN for an empty list. */
export function percentile(numbers: readonly number[], part: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

export function summarise(outcomes: readonly Outcome[], columns: readonly Column[]): Summary {
  const summary: Record<string, Spread> = {}
  for (const { key } of columns) {
    const values = outcomes.map((outcome) => outcome.figures?.[key]).filter((value) => value !== undefined)
    if (values.length === 0) continue
    summary[key] = { median: median(values), min: Math.min(...values), max: Math.max(...values) }
  }
  return summary
}
