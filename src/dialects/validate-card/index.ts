export type { CardProblem, CardReport, CardVersion, Severity } from './place.js'
export { validateCard } from './validate-card.js'
