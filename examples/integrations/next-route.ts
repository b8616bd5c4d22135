/** An agent in Next.js. Put it in `app/api/a2a/[[...path]]/route.ts`, and `skipTrailingSlashRedirect: true` in the settings. */
import { agent } from 'dragoman'
import { createHandler, nextMount } from 'dragoman/server'

const shout = agent('Shout', async function* ({ text }) {
  yield text.toUpperCase()
})

const publicUrl = process.env.PUBLIC_URL ?? 'http://localhost:3000/api/a2a'
export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = nextMount(() =>
  createHandler(shout, { publicUrl, store: 'sqlite:tasks.sqlite' }),
)
