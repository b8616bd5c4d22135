/** The cost of authentication, limits, metrics and the audit log, each against a server without them. */
import { withServer } from '../measurement.ts'
import { type Feature, features as featureNames, headersFor } from '../servers/features.ts'
import { measureSends, sendColumns } from './measure.ts'
import { defineQuestion } from './question.ts'

const titles: Readonly<Record<Feature, string>> = {
  none: 'none',
  key: 'an API key',
  jwt: 'a JWT, verified once and cached',
  limits: 'rate and quota limits',
  metrics: 'metrics',
  audit: 'an audit log',
}
/** The project sets goals for these. The cost of the others is reported. */
const budgeted = ['key', 'metrics', 'audit'] as const

export const features = defineQuestion({
  name: 'features',
  title: 'Blocking sends of one small message, 32 connections, memory store, with one feature enabled',
  rounds: { full: 7, quick: 1 },
  columns: sendColumns,
  settings: ({ isQuick }) => ({
    connections: 32,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1000 : 2500,
  }),
  entries: (settings) =>
    featureNames.map((feature) => ({
      id: feature,
      server: `dragoman-with-${feature}` as const,
      title: titles[feature],
      measure: () =>
        withServer(`dragoman-with-${feature}`, {}, async (measurement) =>
          measureSends(measurement, { ...settings, headers: await headersFor(feature) }),
        ),
    })),
  budgets: ({ ratio }) =>
    budgeted.map((feature) => ({
      what: `CPU of a send with ${titles[feature]}: more than without`,
      value: 100 * (ratio(feature, 'none', 'cpuMicros') - 1),
      atMost: 5,
      unit: '%',
    })),
})
