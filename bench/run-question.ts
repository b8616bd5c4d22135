/** Runs one question: its rounds, the summary of their figures, the comparison with the budgets. */
import type { Entry, Question, Results } from './questions/question.ts'
import { type CheckedBudget, checkBudget } from './report/check-budget.ts'
import { formatNumber } from './report/markdown.ts'
import { median, type Summary, summarise } from './report/summarise.ts'
import { type Outcome, runRounds } from './rounds.ts'
import { type TargetName, targets } from './servers/targets.ts'

export interface RunOptions {
  readonly isQuick: boolean
  /** Default: the number of rounds that the question names. */
  readonly rounds?: number | undefined
  /** Default: every server that the question names. */
  readonly servers?: readonly TargetName[] | undefined
  log(line: string): void
}

export interface EntryReport {
  readonly id: string
  readonly title: string
  readonly summary: Summary
  readonly noAnswer: string | undefined
  readonly rounds: readonly Outcome[]
}

export interface QuestionReport {
  readonly question: Question
  readonly rounds: number
  readonly settings: Readonly<Record<string, number>>
  readonly entries: readonly EntryReport[]
  readonly budgets: readonly CheckedBudget[]
}

export async function runQuestion(question: Question, run: RunOptions): Promise<QuestionReport> {
  const settings = question.settings(run)
  const rounds = run.rounds ?? question.rounds[run.isQuick ? 'quick' : 'full']
  const chosen = question.entries(settings).filter(({ server }) => run.servers?.includes(server) ?? true)
  const onOutcome = (entry: Entry, outcome: Outcome) => run.log(progressLine({ question, entry, outcome, rounds }))
  const outcomes = await runRounds(chosen, { rounds, onOutcome }).finally(() => question.finish?.())
  const entries = chosen.map((entry) => reportEntry(entry, outcomes.get(entry.id) ?? [], question))
  const budgets = question.budgets(resultsOf(entries), settings).map(checkBudget)
  return { question, rounds, settings, entries, budgets }
}

function reportEntry(entry: Entry, outcomes: readonly Outcome[], question: Question): EntryReport {
  return {
    id: entry.id,
    title: titleOf(entry),
    summary: summarise(outcomes, question.columns),
    noAnswer: outcomes.find((outcome) => outcome.noAnswer)?.noAnswer,
    rounds: outcomes,
  }
}

function resultsOf(entries: readonly EntryReport[]): Results {
  const find = (id: string) => entries.find((entry) => entry.id === id)
  return {
    median: (id, key) => find(id)?.summary[key]?.median ?? Number.NaN,
    ratio(id, otherId, key) {
      const others = new Map(find(otherId)?.rounds.map(({ round, figures }) => [round, figures?.[key]]))
      const ratios = find(id)?.rounds.map(({ round, figures }) => (figures?.[key] ?? NaN) / (others.get(round) ?? NaN))
      return median(ratios?.filter((each) => !Number.isNaN(each)) ?? [])
    },
  }
}

function titleOf(entry: Entry): string {
  return entry.title ?? targets[entry.server].title
}

interface Progress {
  readonly question: Question
  readonly entry: Entry
  readonly outcome: Outcome
  readonly rounds: number
}

/** Shows the first figure that the entry has: some entries have only some of the columns. */
function progressLine({ question, entry, outcome, rounds }: Progress): string {
  const figures = question.columns.flatMap(({ key, title, digits = 0 }) => {
    const value = outcome.figures?.[key]
    return value === undefined ? [] : [`${formatNumber(value, digits)} ${title}`]
  })
  return `${question.name} ${outcome.round}/${rounds}  ${titleOf(entry)}: ${figures[0] ?? outcome.noAnswer}`
}
