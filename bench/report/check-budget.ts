/** Compares a median with its budget. */
import type { Budget } from '../questions/question.ts'

export interface CheckedBudget {
  readonly what: string
  readonly goal: string
  readonly measured: string
  readonly verdict: 'PASS' | 'MISS' | 'not measured'
  readonly value: number | null
}

export function checkBudget(budget: Budget): CheckedBudget {
  const { what, value, unit, atLeast, atMost, below } = budget
  const goal = goalOf(budget)
  if (!Number.isFinite(value)) return { what, goal, measured: '–', verdict: 'not measured', value: null }
  const isMissed =
    (atLeast !== undefined && value < atLeast) ||
    (atMost !== undefined && value > atMost) ||
    (below !== undefined && value >= below)
  return { what, goal, measured: `${value.toFixed(2)}${unit}`, verdict: isMissed ? 'MISS' : 'PASS', value }
}

function goalOf({ unit, atLeast, atMost, below }: Budget): string {
  if (atLeast !== undefined) return `≥ ${atLeast}${unit}`
  if (atMost !== undefined) return `≤ ${atMost}${unit}`
  return `< ${below}${unit}`
}
