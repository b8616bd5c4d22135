/**
 * Requirements without a test: put off, or deliberately done otherwise. An entry whose
 * requirement gets a test has to be deleted; `coverage.test.ts` insists.
 */
export interface NotYet {
  readonly id: string
  readonly reason: string
}

const operatorsTls =
  'Whether production uses TLS is for its operator to decide: `serve` takes a certificate, or stands behind a proxy'

export const notYet: readonly NotYet[] = [
  // Done otherwise
  {
    id: 'R-SEND-9',
    reason:
      'A unary call with `returnImmediately` makes a task visible at once, even if the agent later answers with a Message (E-6); streams do ignore the flag',
  },

  // Other bindings
  { id: 'R-CB-1', reason: 'No binding beside those of the protocol is offered' },

  // Security
  { id: 'R-SEC-1', reason: operatorsTls },
  { id: 'R3-SEC-3', reason: operatorsTls },
]
