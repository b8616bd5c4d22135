// From raw rounds to medians and spreads.

export function median(numbers) {
  if (numbers.length === 0) return Number.NaN
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/**
 * @param {import('../rounds.mjs').Outcome[]} outcomes
 * @param {import('../questions/index.mjs').Column[]} columns
 * @returns {Record<string, { median: number, min: number, max: number }>} by column key
 */
export function summarise(outcomes, columns) {
  const summary = {}
  for (const { key } of columns) {
    const values = outcomes.map((outcome) => outcome.figures?.[key])
    const known = values.filter((value) => value !== undefined)
    if (known.length === 0) continue
    summary[key] = { median: median(known), min: Math.min(...known), max: Math.max(...known) }
  }
  return summary
}
