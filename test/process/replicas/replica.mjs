// One replica: an agent that counts, on the given store. Runs the built library, as users do.
import { appendFileSync } from 'node:fs'
import { agent, serve, working } from '../../../dist/index.js'

const { store, port, leaseMs, workLog } = JSON.parse(process.argv[2])

const pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })

/** `count N MS`: sends N chunks, MS apart. Its turns can safely run twice, as `onCrash` declares. */
const card = { name: 'Counter', onCrash: { attempts: 20 }, capabilities: { pushNotifications: true } }
const counter = agent(card, async function* (turn) {
  const [, count = '1', ms = '0'] = turn.text.split(' ')
  appendFileSync(workLog, `begin ${turn.task.id} ${turn.message.messageId} ${turn.attempt} ${port}\n`)
  yield working(`attempt ${turn.attempt}`)
  for (let n = 1; n <= Number(count); n++) {
    await pause(Number(ms), turn.signal)
    yield `${n} `
  }
  appendFileSync(workLog, `end ${turn.task.id} ${turn.message.messageId} ${turn.attempt} ${port}\n`)
})

const push = { allowHosts: ['127.0.0.1'], firstRetryMs: 50, timeoutMs: 2_000 }
const served = await serve(counter, { store, port, push, advanced: { engine: { leaseMs } } })
console.log(`ready at ${served.url}`)
process.once('SIGTERM', () => served.close({ deadlineMs: 300 }).then(() => process.exit(0)))
