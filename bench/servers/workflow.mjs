// A workflow of as many steps as it is told, and the agent it asks over loopback, in one process: each
// on a port of its own.
import { serve } from '../../dist/index.js'
import { workflow } from '../../dist/orchestrator/index.js'
import { echoAgent } from '../../dist/testing/index.js'

const [store, port] = process.argv.slice(2)
const echo = await serve(echoAgent, { store: store === 'memory' ? store : `${store}.echo` })
const chain = workflow('Chain', async (flow) => {
  // Whoever measures asks the agent itself, too.
  if (flow.text === 'where') return echo.url
  for (let step = 1; step <= Number(flow.text); step++)
    await flow.step(`step ${step}`, { agent: echo.url, message: `hello ${step}` })
  return 'done'
})
const served = await serve(chain, { store, port: Number(port) })
console.log(`Listening on ${served.url}`)
