/** The cost of authentication. */
import { withServer } from '../measurement.ts'
import { type CredentialKind, credentialKinds, headersFor } from '../servers/credentials.ts'
import { measureSends } from './measure-sends.ts'
import { defineQuestion, sendColumns } from './question.ts'

const titles: Readonly<Record<CredentialKind, string>> = {
  none: 'anonymous',
  key: 'an API key',
  jwt: 'a JWT, verified once and cached',
}

export const auth = defineQuestion({
  name: 'auth',
  title: 'Blocking sends of one small message, 32 connections, memory store, by the kind of credential',
  rounds: { full: 5, quick: 2 },
  columns: sendColumns,
  settings: ({ isQuick }) => ({
    connections: 32,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1500 : 4000,
  }),
  entries: (settings) =>
    credentialKinds.map((kind) => ({
      id: kind,
      server: `dragoman-auth-${kind}` as const,
      title: titles[kind],
      measure: () =>
        withServer(`dragoman-auth-${kind}`, {}, async (measurement) =>
          measureSends(measurement, { ...settings, headers: await headersFor(kind) }),
        ),
    })),
  budgets: (median) =>
    (['key', 'jwt'] as const).map((kind) => ({
      what: `sends with ${titles[kind]}, against anonymous ones`,
      value: (100 * median(kind, 'requestsPerSecond')) / median('none', 'requestsPerSecond'),
      atLeast: 85,
      unit: '%',
    })),
})
