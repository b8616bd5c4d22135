// Holds a median against its budget.

/**
 * @param {import('../questions/index.mjs').Budget} budget
 * @returns {{ what: string, goal: string, measured: string,
 *   verdict: 'PASS' | 'MISS' | 'not measured', value: number | null }}
 */
export function judge(budget) {
  const { what, value, unit, atLeast, atMost, below } = budget
  const goal = goalOf(budget)
  if (!Number.isFinite(value)) return { what, goal, measured: '–', verdict: 'not measured', value: null }
  // A comparison with an absent bound is false, so only the bound that is there counts.
  const isMissed = value < atLeast || value > atMost || value >= below
  return { what, goal, measured: `${value.toFixed(2)}${unit}`, verdict: isMissed ? 'MISS' : 'PASS', value }
}

function goalOf({ unit, atLeast, atMost, below }) {
  if (atLeast !== undefined) return `≥ ${atLeast}${unit}`
  if (atMost !== undefined) return `≤ ${atMost}${unit}`
  return `< ${below}${unit}`
}
