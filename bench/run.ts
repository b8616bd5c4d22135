/** Entry of `npm run bench`. Writes progress to standard error, tables to standard output, raw values into `results/`. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { buildDragoman } from './build.ts'
import { type BenchOptions, readOptions, usage } from './options.ts'
import type { Question } from './questions/question.ts'
import { describeMachine, describeVersions, type Machine } from './report/machine.ts'
import { goalsTable, markdown } from './report/markdown.ts'
import { type QuestionReport, runQuestion } from './run-question.ts'
import { targets } from './servers/targets.ts'

// The `exit` event also stops the running server.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))

const log = (line: string) => console.error(line)

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  if (options.isHelpWanted) return console.log(usage)
  buildIfNeeded(options)
  const machine = describeMachine()
  const versions = describeVersions()
  warnWhenBusy(machine)
  console.log(heading(machine, versions))
  const records: object[] = []
  const reports: QuestionReport[] = []
  for (const question of options.questions) {
    const report = await runOrLog(question, options)
    if (!report) continue
    console.log(`\n${markdown(report)}`)
    const record = { machine, versions, ...report, question: question.name, title: question.title }
    writeResult(question.name, record, options)
    records.push(record)
    reports.push(report)
  }
  console.log(`\n${goalsTable(reports)}`)
  if (options.jsonFile) writeJson(options.jsonFile, records)
}

function buildIfNeeded({ servers, isBuildWanted }: BenchOptions): void {
  const isBuildNeeded = !servers || servers.some((name) => targets[name].needsBuild)
  if (isBuildWanted && isBuildNeeded) buildDragoman()
}

function warnWhenBusy({ loadAverageAtStart, cores }: Machine): void {
  if (loadAverageAtStart < cores / 4) return
  log(`Warning: the load average is ${loadAverageAtStart.toFixed(1)} before the first round; figures will be noisy`)
}

function heading({ cpu, cores, node, system }: Machine, versions: Readonly<Record<string, string>>): string {
  const measured = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  return `${cpu}, ${cores} cores, ${system}, Node ${node}\n${measured.join(', ')}`
}

/** A question that fails does not stop the others, but the process exits with 1. */
async function runOrLog(question: Question, options: BenchOptions): Promise<QuestionReport | undefined> {
  try {
    return await runQuestion(question, { ...options, log })
  } catch (error) {
    log(`\n${question.name} FAILED: ${messageOf(error)}\n`)
    process.exitCode = 1
    return undefined
  }
}

/** Only a full run replaces the published figures. */
function writeResult(name: string, record: object, { isQuick, servers, rounds }: BenchOptions): void {
  const isFull = !isQuick && !servers && !rounds
  // The same folder from the sources and from the compiled output.
  const folder = new URL('../bench/results/', import.meta.url)
  mkdirSync(folder, { recursive: true })
  writeJson(new URL(`${name}${isFull ? '' : '.trial'}.json`, folder), record)
}

function writeJson(file: string | URL, value: unknown): void {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

main().catch((error) => {
  log(messageOf(error))
  process.exitCode = 2
})
