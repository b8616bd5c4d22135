/** `dragoman serve --echo` with one feature enabled. Usage: with-feature FEATURE */
import { apiKey, jwt, type ServeOptions, serve } from 'dragoman'
import { echoAgent } from 'dragoman/testing'
import { benchKey, benchSecret, type Feature, features } from './features.ts'

/** High enough to refuse nothing. */
const many = 1e9
const audited: { last?: object } = {}

/** `rate: 'none'` with credentials: the figure is about authentication alone. */
const optionsFor: Readonly<Record<Feature, ServeOptions>> = {
  none: {},
  key: { auth: apiKey(benchKey), limits: { rate: 'none' } },
  jwt: { auth: jwt({ audience: 'bench', secret: benchSecret }), limits: { rate: 'none' } },
  limits: { limits: { rate: { perSecond: many }, bytesPerCaller: many * 1024, runsPerCaller: many } },
  metrics: { metrics: { port: 0 } },
  audit: {
    advanced: {
      audit: (entry) => {
        audited.last = entry
      },
    },
  },
}

const feature = features.find((each) => each === process.argv[2])
if (feature === undefined) throw new Error(`Unknown feature: ${process.argv[2]}; pass one of ${features.join(', ')}`)
const { url } = await serve(echoAgent, optionsFor[feature])
console.log(`Listening on ${url}`)
