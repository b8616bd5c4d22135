// `npm start`: the whole demonstration on this machine, until Ctrl-C.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { createWriter } from '../writing/writer.ts'
import { farewell, report } from './report.ts'
import { PortTakenError, type System, startSystem } from './start-system.ts'

const usualStore = 'sqlite:.dragoman/system.sqlite'

const usage = `npm start -- [options]
  --api-key KEY   callers must show it, and the agents show it to each other; default: DRAGOMAN_API_KEY
  --bearer TOKEN  or this token, as Authorization: Bearer; default: DRAGOMAN_BEARER
  --store STORE   memory, sqlite:PATH or postgres://…; default ${usualStore}
  --ports auto    any ports that are free, instead of the usual ones; +1000 those that are so much higher
  --host ADDRESS  default 127.0.0.1; another one needs a key
To begin anew, delete .dragoman/: tasks, orders and registrations are kept there from one start to the next.
Language model: DRAGOMAN_MODEL, DRAGOMAN_MODEL_URL, DRAGOMAN_MODEL_KEY; without them an offline writer writes`

export async function main(args: string[]) {
  const begunMs = Date.now()
  let system: System
  let options: ReturnType<typeof optionsIn>
  try {
    options = optionsIn(args)
  } catch (error) {
    return fail(`${messageOf(error)}\n\n${usage}`, 2)
  }
  if (options.help) return console.log(usage)
  try {
    system = await startSystem(options)
  } catch (error) {
    // A taken port says all there is to say; anything else may need its trace.
    return fail(
      error instanceof PortTakenError ? error.message : `The system could not be started: ${messageOf(error)}`,
      1,
    )
  }
  closeOnSignal(system, options.store)
  const writer = createWriter().name
  console.log(report(system, { ...options, writer, seconds: (Date.now() - begunMs) / 1000 }))
}

function optionsIn(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      'api-key': { type: 'string', default: process.env.DRAGOMAN_API_KEY },
      bearer: { type: 'string', default: process.env.DRAGOMAN_BEARER },
      store: { type: 'string', default: usualStore },
      ports: { type: 'string', default: 'usual' },
      host: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const { store, ports, host, help } = values
  const [, higher] = /^\+(\d{1,5})$/.exec(ports) ?? []
  if (ports !== 'auto' && ports !== 'usual' && higher === undefined)
    throw new TypeError(`--ports is auto, usual or +N, not ${ports}`)
  const portFor = (usual: number) => (ports === 'auto' ? 0 : usual + Number(higher ?? 0))
  const [, path] = /^sqlite:(.+)$/.exec(store) ?? []
  if (path && path !== ':memory:') mkdirSync(dirname(path), { recursive: true })
  return { store, host, help, key: values['api-key'] || undefined, token: values.bearer || undefined, portFor }
}

function closeOnSignal(system: System, store: string) {
  let firstMs = 0
  const onSignal = () => {
    // npm passes on what the terminal has sent already: twice within a moment is once.
    if (firstMs > 0 && Date.now() - firstMs > 1000) process.exit(1)
    if (firstMs > 0) return
    firstMs = Date.now()
    system.close().then(
      () => process.stdout.write(`\n${farewell(store)}\n`, () => process.exit(0)),
      (error) => fail(`Could not close cleanly: ${messageOf(error)}`, 1),
    )
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
}

function fail(message: string, code: number) {
  // What may still be open does not keep us.
  process.stderr.write(`${message}\n`, () => process.exit(code))
}

function messageOf(error: unknown) {
  return error instanceof Error ? error.message : String(error)
}
