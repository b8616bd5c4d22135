// `dragoman serve --echo` with callers that prove who they are. Usage: with-auth.mjs none | key | jwt
import { apiKey, jwt, serve } from '../../dist/index.js'
import { echoAgent } from '../../dist/testing/index.js'
import { benchKey, benchSecret } from './credentials.mjs'

const schemes = {
  none: undefined,
  key: [apiKey(benchKey)],
  jwt: [jwt({ audience: 'bench', secret: benchSecret })],
}

const auth = schemes[process.argv[2]]
const rate = { ...(auth && { limits: { rate: 'none' } }) } // what is measured is the proof, not the limit
const { url } = await serve(echoAgent, { ...(auth && { auth }), ...rate })
console.log(`Listening on ${url}`)
