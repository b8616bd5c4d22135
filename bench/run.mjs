// The entry: `npm run bench`. Progress goes to standard error, tables to standard output, raw
// values into results/.
import { mkdirSync, writeFileSync } from 'node:fs'
import { ask } from './ask.mjs'
import { readOptions, usage } from './options.mjs'
import { buildDragoman, installCompetitors } from './prepare.mjs'
import { describeMachine, describeVersions } from './report/machine.mjs'
import { markdown } from './report/markdown.mjs'
import { contestants } from './servers/contestants.mjs'

// Leaving through `exit` lets the running server be ended too.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))

const log = (line) => console.error(line)

async function main() {
  const options = readOptions(process.argv.slice(2))
  if (options.isHelpWanted) return console.log(usage)
  prepare(options)
  const machine = describeMachine()
  const versions = describeVersions()
  warnWhenBusy(machine)
  console.log(heading(machine, versions))
  const answers = []
  for (const question of options.questions) {
    const answer = await askLoudly(question, options)
    if (!answer) continue
    console.log(`\n${markdown(answer)}`)
    const record = { machine, versions, ...plain(answer) }
    writeResult(record, options)
    answers.push(record)
  }
  if (options.jsonFile) writeJson(options.jsonFile, answers)
}

function prepare({ servers, isBuildWanted }) {
  installCompetitors()
  const isBuildNeeded = !servers || servers.some((name) => contestants[name].needsBuild)
  if (isBuildWanted && isBuildNeeded) buildDragoman()
}

function warnWhenBusy({ loadAverageAtStart, cores }) {
  if (loadAverageAtStart < cores / 4) return
  log(`Warning: load average ${loadAverageAtStart.toFixed(1)} before the first round; figures will be noisy`)
}

function heading({ cpu, cores, node, system }, versions) {
  const measured = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  return `${cpu}, ${cores} cores, ${system}, Node ${node}\n${measured.join(', ')}`
}

/** One question that cannot be answered does not take the others' answers away, but it is a failure. */
async function askLoudly(question, options) {
  try {
    return await ask(question, { ...options, log })
  } catch (error) {
    log(`\n${question.name} FAILED: ${error.message}\n`)
    process.exitCode = 1
  }
}

function plain({ question, ...rest }) {
  return { question: question.name, title: question.title, ...rest }
}

/** Only a full run may replace the figures that are quoted. */
function writeResult(record, { isQuick, servers, rounds }) {
  const isFull = !isQuick && !servers && !rounds
  const folder = new URL('results/', import.meta.url)
  mkdirSync(folder, { recursive: true })
  writeJson(new URL(`${record.question}${isFull ? '' : '.trial'}.json`, folder), record)
}

function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
}

main().catch((error) => {
  log(error.message)
  process.exitCode = 2
})
