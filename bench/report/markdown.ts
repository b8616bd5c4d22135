/** The tables on standard output. */
import type { Column, Question } from '../questions/question.ts'
import type { EntryReport, QuestionReport } from '../run-question.ts'
import type { CheckedBudget } from './check-budget.ts'
import type { Spread } from './summarise.ts'

export function markdown({ question, entries, budgets, rounds }: QuestionReport): string {
  const plural = rounds === 1 ? 'round' : 'rounds'
  return [
    `### ${question.name}: ${question.title}`,
    `Median of ${rounds} ${plural} (min–max).`,
    table(['', ...question.columns.map((column) => column.title)], entryRows(question, entries)),
    ...(budgets.length > 0 ? [table(['Budget', 'Goal', 'Measured', ''], budgetRows(budgets))] : []),
  ].join('\n\n')
}

/** All goals of a run with their verdicts, in one table. */
export function goalsTable(reports: readonly QuestionReport[]): string {
  const rows = reports.flatMap(({ question, budgets }) => budgetRows(budgets).map((row) => [question.name, ...row]))
  return `### Goals\n\n${table(['Question', 'Goal of', 'Goal', 'Measured', ''], rows)}`
}

function entryRows(question: Question, entries: readonly EntryReport[]): string[][] {
  return entries.map(({ title, summary, noAnswer }) => [
    title,
    ...question.columns.map((column, index) => {
      const spread = summary[column.key]
      if (spread) return cell(spread, column)
      return index === 0 && noAnswer ? noAnswer : '–'
    }),
  ])
}

function cell({ median, min, max }: Spread, column: Column): string {
  if (column.isShare) return `${Math.round(median * 100)} %`
  const format = (value: number) => formatNumber(value, column.digits ?? 0)
  return `${format(median)} (${format(min)}–${format(max)})`
}

export function formatNumber(value: number, digits: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

function budgetRows(budgets: readonly CheckedBudget[]): string[][] {
  return budgets.map(({ what, goal, measured, verdict }) => [what, goal, measured, verdict])
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_title, index) => (index === 0 ? '---' : '--:'))
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
