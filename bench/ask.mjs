// Asks one question: runs its rounds, sums them up, judges them.
import { judge } from './report/judge.mjs'
import { formatNumber } from './report/markdown.mjs'
import { summarise } from './report/summarise.mjs'
import { runRounds } from './rounds.mjs'
import { contestants } from './servers/contestants.mjs'

/**
 * @param {import('./questions/index.mjs').Question} question
 * @param {{ isQuick: boolean, rounds?: number, servers?: string[], log(line: string): void }} run
 */
export async function ask(question, run) {
  const settings = question.settings(run)
  const rounds = run.rounds ?? question.rounds[run.isQuick ? 'quick' : 'full']
  const chosen = question.entries(settings).filter(({ server }) => run.servers?.includes(server) ?? true)
  const onOutcome = (entry, outcome) => run.log(progress({ question, entry, outcome, rounds }))
  const outcomes = await runRounds(chosen, { rounds, onOutcome }).finally(() => question.finish?.())
  const entries = chosen.map((entry) => describeEntry(entry, outcomes.get(entry.id), question))
  const median = (id, key) => entries.find((entry) => entry.id === id)?.summary[key]?.median ?? Number.NaN
  const budgets = question.budgets(median, settings).map(judge)
  return { question, rounds, settings, entries, budgets }
}

function describeEntry(entry, outcomes, question) {
  return {
    id: entry.id,
    title: titleOf(entry),
    summary: summarise(outcomes, question.columns),
    noAnswer: outcomes.find((outcome) => outcome.noAnswer)?.noAnswer,
    rounds: outcomes,
  }
}

function titleOf(entry) {
  return entry.title ?? contestants[entry.server].title
}

function progress({ question, entry, outcome, rounds }) {
  // Not every entry has every figure: the first one it has tells how it goes.
  const column = question.columns.find(({ key }) => outcome.figures?.[key] !== undefined)
  const said = column
    ? `${formatNumber(outcome.figures[column.key], column.digits ?? 0)} ${column.title}`
    : outcome.noAnswer
  return `${question.name} ${outcome.round}/${rounds}  ${titleOf(entry)}: ${said}`
}
