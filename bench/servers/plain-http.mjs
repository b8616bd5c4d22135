// Dragoman's handler behind a plain `node:http` server: the same as `dragoman serve --echo`, but for
// the listener that looks at the first bytes of every connection.
import { createServer } from 'node:http'
import { createHandler, toNodeListener } from '../../dist/server/index.js'
import { echoAgent } from '../../dist/testing/index.js'

const handler = await createHandler(echoAgent)
const server = createServer(toNodeListener(handler))
server.listen(0, '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})
