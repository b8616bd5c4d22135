/**
 * Rounds are interleaved, and every second round runs in reverse order (A B C, C B A, …). A machine that becomes
 * slower during a run then affects all entries in the same way.
 */
import type { Entry, Figures } from './questions/question.ts'

export interface Outcome {
  readonly round: number
  readonly figures?: Figures
  /** Set instead of `figures` when the server did not answer in time. */
  readonly noAnswer?: string
}

export interface RoundOptions {
  readonly rounds: number
  onOutcome(entry: Entry, outcome: Outcome): void
}

/** Returns the outcomes by entry id, in the order of the rounds. */
export async function runRounds(
  entries: readonly Entry[],
  { rounds, onOutcome }: RoundOptions,
): Promise<ReadonlyMap<string, readonly Outcome[]>> {
  const outcomes = new Map(entries.map((entry): [string, Outcome[]] => [entry.id, []]))
  for (let round = 1; round <= rounds; round++) {
    const order = round % 2 === 1 ? entries : entries.toReversed()
    for (const entry of order) {
      const past = outcomes.get(entry.id)
      // After one time-out the next round would only wait as long again.
      if (!past || past.some((outcome) => outcome.noAnswer !== undefined)) continue
      const outcome = { round, ...(await attempt(entry)) }
      past.push(outcome)
      onOutcome(entry, outcome)
    }
  }
  return outcomes
}

/** A server that is too slow to answer is a result; any other error ends the question. */
async function attempt(entry: Entry): Promise<Omit<Outcome, 'round'>> {
  try {
    return { figures: await entry.measure() }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'NO_ANSWER') return { noAnswer: error.message }
    throw error
  }
}
