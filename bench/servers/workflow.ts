/**
 * A workflow with a given number of steps, and the agent that it calls over loopback, in one process on two ports.
 * Usage: workflow STORE PORT
 */
import { serve } from 'dragoman'
import { workflow } from 'dragoman/orchestrator'
import { echoAgent } from 'dragoman/testing'

const [store = 'memory', port] = process.argv.slice(2)
const echo = await serve(echoAgent, { store: store === 'memory' ? store : `${store}.echo` })
const chain = workflow('Chain', async (flow) => {
  // The load generator also calls the agent directly.
  if (flow.text === 'where') return echo.url
  for (let step = 1; step <= Number(flow.text); step++) {
    await flow.step(`step ${step}`, { agent: echo.url, message: `hello ${step}` })
  }
  return 'done'
})
const served = await serve(chain, { store, port: Number(port) })
console.log(`Listening on ${served.url}`)
