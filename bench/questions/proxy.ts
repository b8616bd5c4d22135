/** The cost of `dragoman serve --proxy` between a caller and an agent. */
import { withServer } from '../measurement.ts'
import { measureSends, sendColumns } from './measure.ts'
import { defineQuestion } from './question.ts'

export const proxy = defineQuestion({
  name: 'proxy',
  title: 'Blocking sends to an agent and through `--proxy`, 32 connections; CPU of the called process alone',
  rounds: { full: 5, quick: 1 },
  columns: sendColumns,
  settings: ({ isQuick }) => ({
    connections: 32,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1000 : 4000,
  }),
  entries: (settings) => [
    {
      id: 'direct',
      server: 'dragoman-memory',
      title: 'the agent itself, memory',
      measure: () => withServer('dragoman-memory', {}, (direct) => measureSends(direct, settings)),
    },
    {
      id: 'proxy',
      server: 'dragoman-proxy',
      measure: () =>
        withServer('dragoman-memory', {}, ({ server: { origin } }) =>
          withServer('dragoman-proxy', { upstream: origin }, (through) => measureSends(through, settings)),
        ),
    },
  ],
  budgets: () => [],
})
