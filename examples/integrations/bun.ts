/** An agent on Bun's own server, with its tasks in SQLite. Run it: `bun bun.ts` */
import { agent } from 'dragoman'
import { createHandler } from 'dragoman/server'

const shout = agent('Shout', async function* ({ text }) {
  yield text.toUpperCase()
})

const port = Number(process.env.PORT ?? 8001)
const { fetch } = await createHandler(shout, { publicUrl: `http://localhost:${port}`, store: 'sqlite:tasks.sqlite' })
// Bun listens on all addresses by default. It cuts connections that are idle for 10 s; a quiet stream sends a comment every 15 s.
export default { port, hostname: '127.0.0.1', fetch, idleTimeout: 60 }
