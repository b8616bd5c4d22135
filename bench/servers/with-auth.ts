/** `dragoman serve --echo` with authentication. Usage: with-auth none | key | jwt */
import { apiKey, jwt, serve } from 'dragoman'
import { echoAgent } from 'dragoman/testing'
import { benchKey, benchSecret } from './credentials.ts'

const kind = process.argv[2]
const scheme =
  kind === 'key' ? apiKey(benchKey) : kind === 'jwt' ? jwt({ audience: 'bench', secret: benchSecret }) : undefined

// No rate limit: the figure is about authentication.
const { url } = await serve(echoAgent, scheme ? { auth: [scheme], limits: { rate: 'none' } } : {})
console.log(`Listening on ${url}`)
