// Rounds are interleaved, and every other one runs backwards (A B C, C B A, …): a machine that
// gets slower or busier during a run then hurts everybody alike.

/**
 * @typedef {{ round: number, figures: import('./questions/index.mjs').Figures }
 *   | { round: number, noAnswer: string }} Outcome
 */

/**
 * @param {import('./questions/index.mjs').Entry[]} entries
 * @param {{ rounds: number, onOutcome(entry: object, outcome: Outcome): void }} options
 * @returns {Promise<Map<string, Outcome[]>>} by entry id, in the order of the rounds
 */
export async function runRounds(entries, { rounds, onOutcome }) {
  const outcomes = new Map(entries.map((entry) => [entry.id, []]))
  for (let round = 1; round <= rounds; round++) {
    const order = round % 2 === 1 ? entries : entries.toReversed()
    for (const entry of order) {
      const past = outcomes.get(entry.id)
      // One time-out tells all: the next round would only wait as long again.
      if (past.some((outcome) => 'noAnswer' in outcome)) continue
      const outcome = { round, ...(await attempt(entry)) }
      past.push(outcome)
      onOutcome(entry, outcome)
    }
  }
  return outcomes
}

/** A server too slow to answer is a finding; anything else that fails ends the question. */
async function attempt(entry) {
  try {
    return { figures: await entry.measure() }
  } catch (error) {
    if (error.code === 'NO_ANSWER') return { noAnswer: error.message }
    throw error
  }
}
