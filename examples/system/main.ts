// `npm start`: the whole demonstration on this machine, until Ctrl-C.
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { createWriter } from '../writing/writer.ts'
import { report, stopMessage } from './report.ts'
import { PortTakenError, type System, startSystem } from './start-system.ts'

const defaultStore = 'sqlite:.dragoman/system.sqlite'

const usage = `npm start -- [options]
  --api-key KEY   require this key in X-API-Key; the agents also use it to call each other (default: DRAGOMAN_API_KEY)
  --bearer TOKEN  require this token in Authorization: Bearer; with --api-key either one (default: DRAGOMAN_BEARER)
  --store STORE   store of the tasks: memory, sqlite:PATH or postgres://… (default: ${defaultStore})
  --ports PORTS   auto picks free ports; +N adds N to each default port
  --host ADDRESS  address to bind; an address other than loopback requires a key or a token (default: 127.0.0.1)
  --help          print this help
The folder .dragoman/ contains tasks, orders and registrations; delete it to start without data.
DRAGOMAN_MODEL, DRAGOMAN_MODEL_URL and DRAGOMAN_MODEL_KEY select a language model (default: texts without a model).`

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
    // The message of a port that is in use is complete; other errors need the prefix.
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
      store: { type: 'string', default: defaultStore },
      ports: { type: 'string', default: 'default' },
      host: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  const { store, ports, host, help } = values
  const [, higher] = /^\+(\d{1,5})$/.exec(ports) ?? []
  if (ports !== 'auto' && ports !== 'default' && higher === undefined)
    throw new TypeError(`--ports must be auto, default or +N, not ${ports}`)
  const portFor = (defaultPort: number) => (ports === 'auto' ? 0 : defaultPort + Number(higher ?? 0))
  const [, path] = /^sqlite:(.+)$/.exec(store) ?? []
  if (path && path !== ':memory:') mkdirSync(dirname(path), { recursive: true })
  return { store, host, help, key: values['api-key'] || undefined, token: values.bearer || undefined, portFor }
}

function closeOnSignal(system: System, store: string) {
  let firstMs = 0
  const onSignal = () => {
    // npm forwards the signal that the terminal has sent already: ignore a second one within a second.
    if (firstMs > 0 && Date.now() - firstMs > 1000) process.exit(1)
    if (firstMs > 0) return
    firstMs = Date.now()
    system.close().then(
      () => process.stdout.write(`\n${stopMessage(store)}\n`, () => process.exit(0)),
      (error) => fail(`Could not close cleanly: ${messageOf(error)}`, 1),
    )
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
}

function fail(message: string, code: number) {
  // Open handles must not keep the process alive.
  process.stderr.write(`${message}\n`, () => process.exit(code))
}

function messageOf(error: unknown) {
  return error instanceof Error ? error.message : String(error)
}
