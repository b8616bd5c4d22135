/** An agent in a Durable Object of Cloudflare Workers, which stores its tasks. The settings are in docs/integrations/runtimes.md. */
import { agent, bearer } from 'dragoman'
import { agentObject } from 'dragoman/cloudflare'

interface Env {
  readonly PUBLIC_URL: string
  readonly TOKEN: string
  readonly SHOUT: { getByName(name: string): { fetch(request: Request): Promise<Response> } }
}

const shout = agent('Shout', async function* ({ text }) {
  yield text.toUpperCase()
})

export const Shout = agentObject(shout, (env: Env) => ({ publicUrl: env.PUBLIC_URL, auth: bearer(env.TOKEN) }))
export default { fetch: (request: Request, env: Env) => env.SHOUT.getByName('shout').fetch(request) }
