export type { CardProblem, CardReport, CardVersion, Severity } from './report.js'
export { validateCard } from './validate-card.js'
