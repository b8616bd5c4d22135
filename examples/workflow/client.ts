// Starts the agents and the workflow, runs the workflow and answers the question of the hotel agent.
import assert from 'node:assert/strict'
import { serve } from 'dragoman'
import { connect } from 'dragoman/client'
import { graphOf } from 'dragoman/orchestrator'
import { serveAgents } from './agents.ts'
import { travel } from './workflow.ts'

const agents = await serveAgents()
const served = await serve(travel(agents.addresses))
const client = await connect(served.url)
const journey = client.conversation()

const question = await journey.ask('Book a flight to Helsinki')
console.log(question.text)
assert.equal(question.text, 'hotel: A single or a double room?')

const { task } = await journey.ask('A double')
const graph = graphOf(task ?? {}) ?? assert.fail('The run has a graph')
for (const { id, agent, state } of graph.nodes) console.log(`${id}: ${agent}, ${state}`)
assert.deepEqual(graph.edges.map(({ from, to }) => `${from} → ${to}`).sort(), [
  'flight → hotel',
  'flight → snowmobile',
  'hotel → spa',
])

await client.close()
await served.close({ deadlineMs: 0 })
await agents.close()
