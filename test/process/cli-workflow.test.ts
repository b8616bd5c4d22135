/** `dragoman workflow`: running workflows, showing their steps, continuing runs that wait. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cli, json } from './cli-command.js'
import {
  builtLibrary,
  type ServerProcess,
  startServer,
  type TemporaryFolder,
  temporaryFolder,
} from './server-process.js'

const module = `
  import { agent, artifact, ask, data } from ${JSON.stringify(builtLibrary)}
  import { workflow } from ${JSON.stringify(new URL('orchestrator/index.js', builtLibrary).href)}
  const flights = agent('Flights', async function* ({ text }) {
    yield artifact('flight', data({ to: text }))
  })
  const hotels = agent('Hotels', async function* ({ number, text }) {
    if (number === 1) yield ask('Which room?')
    yield artifact('hotel', 'booked ' + text)
  })
  const travel = workflow('Travel', async (flow) => {
    const flight = await flow.step('flight', { agent: flights, message: flow.text })
    const hotel = await flow.step('hotel', { agent: hotels, message: ['Book', flight] })
    return 'You have ' + hotel.text
  })
  const relay = workflow('Relay', async (flow) => {
    await flow.step('flight', { agent: flights, message: flow.text })
  })
  const publish = workflow('Publish', async (flow) => {
    const schema = { type: 'object', required: ['approve'], properties: { approve: { type: 'boolean' } } }
    const { data } = await flow.ask('approval', 'Publish it?', { schema })
    return data.approve ? 'published' : 'kept'
  })
  export default [travel, relay, publish, flights, hotels]`

let folder: TemporaryFolder
let server: ServerProcess
let ref: string

beforeAll(async () => {
  folder = await temporaryFolder()
  const path = join(folder.path, 'travel.mjs')
  await writeFile(path, module)
  server = await startServer([path])
  ref = /http:\S+\/travel\//i.exec(server.stdout)?.[0] ?? server.url
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

interface Run {
  readonly task: { readonly id: string; readonly status: { readonly state: string } }
  readonly graph: { readonly nodes: readonly { readonly id: string; readonly state: string }[] }
}

describe('dragoman workflow', () => {
  it('prints how to answer a form, and continues only with a valid answer', async () => {
    const publish = ref.replace('travel', 'publish')
    const asked = await cli(['workflow', 'run', publish, 'a text'])
    const [, id = ''] = /workflow resume \S+ (\S+) --data '{"approve":true}'/.exec(asked.stderr) ?? []
    expect(id).not.toBe('')
    const refused = await cli(['workflow', 'resume', publish, id, 'yes'])
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toContain('approve: must be a boolean')
    const done = await cli(['workflow', 'resume', publish, id, '--data', '{"approve":true}'])
    expect(done).toMatchObject({ code: 0, stdout: 'published\n' })
  })

  it('runs a workflow up to its question, prints its graph, and continues with the answer', async () => {
    const asked = await cli(['workflow', 'run', ref, 'Helsinki'])
    expect(asked.code).toBe(0)
    expect(asked.stdout).toBe('hotel: Which room?\n')
    expect(asked.stderr).toMatch(/^Run \S+\nflight: Flights is asked\n/)
    const [, id = ''] = /workflow resume \S+ (\S+) "…"/.exec(asked.stderr) ?? []
    expect(asked.stderr).toContain(`Run ${id} is input-required\n`)
    expect((await cli(['workflow', 'graph', ref, id])).stdout).toMatch(
      /^Travel\n└─ flight +Flights +completed +\S+ m?s +task \S+\n {3}└─ hotel +Hotels +asking +\S+ m?s +task \S+\n$/,
    )
    const waiting = await cli(['workflow', 'resume', ref, id])
    expect(waiting.stdout).toContain('hotel: Which room?')
    const graph = json((await cli(['workflow', 'graph', ref, id, '-o', 'json'])).stdout) as Run['graph']
    expect(graph.nodes.map(({ id: step, state }) => `${step} ${state}`)).toEqual(['flight completed', 'hotel asking'])
    const list = await cli(['workflow', 'list', ref])
    expect(list.stdout).toContain(`${id}  input-required  Travel    1/2   hotel`)
    const done = await cli(['workflow', 'resume', ref, id, 'a double', '-o', 'json'])
    const run = json(done.stdout) as Run
    expect(run.task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(run.graph.nodes.map(({ state }) => state)).toEqual(['completed', 'completed'])
    const again = await cli(['workflow', 'resume', ref, id])
    expect(again.stdout).toBe('You have booked a double\n')
    expect(again.stderr).toContain(`Its steps:  dragoman workflow graph ${ref} ${id}\n`)
  })

  it('prints the artifacts of the steps if the workflow has none, and the next commands', async () => {
    const run = await cli(['workflow', 'run', ref.replace(/travel/i, 'relay'), 'Helsinki'])
    expect([run.code, run.stdout]).toEqual([0, '{\n  "to": "Helsinki"\n}\n'])
    const [, id = ''] = /^Run (\S+) is completed$/m.exec(run.stderr) ?? []
    const [, line = ''] = /^Its result: dragoman (.+)$/m.exec(run.stderr) ?? []
    expect(line).toContain(id)
    expect((await cli(line.split(' '))).stdout).toContain('"to": "Helsinki"')
  })

  it('rejects a task that is not a run, and missing arguments', async () => {
    const sent = json((await cli(['send', ref.replace(/travel/i, 'flights'), 'hello', '-o', 'json'])).stdout) as Run
    const graph = await cli(['workflow', 'graph', ref.replace(/travel/i, 'flights'), sent.task.id])
    expect([graph.code, graph.stderr]).toEqual([2, expect.stringContaining('is not a workflow run')])
    expect(await cli(['workflow', 'graph', ref])).toMatchObject({ code: 2, stdout: '' })
  })
})
