/** An agent on Deno, with its tasks in SQLite. Run it: `deno run -A deno.ts` */
import { agent, serve } from 'dragoman'

const shout = agent('Shout', async function* ({ text }) {
  yield text.toUpperCase()
})

const { url } = await serve(shout, { port: Number(process.env.PORT ?? 8001), store: 'sqlite:tasks.sqlite' })
console.log(`Shout is at ${url}`)
