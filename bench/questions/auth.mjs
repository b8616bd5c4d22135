// What does it cost to know who calls?
import { bout, runTimed } from '../bout.mjs'
import { headersFor } from '../servers/credentials.mjs'

const proofs = { none: 'anonymous', key: 'an API key', jwt: 'a JWT, verified once and remembered' }

export const auth = {
  name: 'auth',
  title: 'Blocking sends of one small message, 32 connections, memory store, by who may call',
  rounds: { full: 5, quick: 2 },
  columns: [
    { key: 'requestsPerSecond', title: 'requests/s' },
    { key: 'serverBusy', title: 'server CPU', isShare: true },
    { key: 'generatorBusy', title: 'generator CPU', isShare: true },
  ],
  settings: ({ isQuick }) => ({
    connections: 32,
    warmUpMs: isQuick ? 700 : 1500,
    durationMs: isQuick ? 1500 : 4000,
  }),
  entries: (settings) =>
    Object.entries(proofs).map(([proof, title]) => ({
      id: proof,
      server: `dragoman-auth-${proof}`,
      title,
      measure: () => bout(`dragoman-auth-${proof}`, {}, (sides) => measure(sides, proof, settings)),
    })),
  budgets: (median) =>
    ['key', 'jwt'].map((proof) => ({
      what: `sends with ${proofs[proof]}, against anonymous ones`,
      value: (100 * median(proof, 'requestsPerSecond')) / median('none', 'requestsPerSecond'),
      atLeast: 85,
      unit: '%',
    })),
}

async function measure(sides, proof, settings) {
  const result = await runTimed(sides, 'sendMessages', { ...settings, headers: await headersFor(proof) })
  return {
    requestsPerSecond: result.requests / result.seconds,
    serverBusy: result.serverBusy,
    generatorBusy: result.generatorBusy,
  }
}
