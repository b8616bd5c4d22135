// The tables people read.

/** @param {{ question: object, entries: object[], budgets: object[] }} result */
export function markdown({ question, entries, budgets, rounds }) {
  const plural = rounds === 1 ? 'round' : 'rounds'
  return [
    `### ${question.name}: ${question.title}`,
    `Median of ${rounds} ${plural} (min–max).`,
    table(['', ...question.columns.map((column) => column.title)], entryRows(question, entries)),
    ...(budgets.length > 0 ? [table(['Budget', 'Goal', 'Measured', ''], budgetRows(budgets))] : []),
  ].join('\n\n')
}

function entryRows(question, entries) {
  return entries.map(({ title, summary, noAnswer }) => [
    title,
    ...question.columns.map((column, index) => {
      if (summary[column.key]) return cell(summary[column.key], column)
      return index === 0 && noAnswer ? noAnswer : '–'
    }),
  ])
}

function cell({ median, min, max }, column) {
  if (column.isShare) return `${Math.round(median * 100)} %`
  const format = (value) => formatNumber(value, column.digits ?? 0)
  return `${format(median)} (${format(min)}–${format(max)})`
}

export function formatNumber(value, digits) {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

function budgetRows(budgets) {
  return budgets.map(({ what, goal, measured, verdict }) => [what, goal, measured, verdict])
}

function table(head, rows) {
  const rule = head.map((_title, index) => (index === 0 ? '---' : '--:'))
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
