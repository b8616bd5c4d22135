import { parseArgs } from 'node:util'
import { questions } from './questions/index.ts'
import type { Question } from './questions/question.ts'
import { type TargetName, targetNames } from './servers/targets.ts'

const questionNames = questions.map(({ name }) => name)

export const usage = `Usage: npm run bench -- [options]

  --quick           the questions with goals, in short rounds (under three minutes); do not publish these figures
  --only NAMES      questions to run: ${questionNames.join(', ')}
  --list            also run the list question (fills a store with a million tasks)
  --servers NAMES   servers to measure: ${targetNames.join(', ')}
  --rounds N        rounds per question
  --json FILE       also write all results into one file
  --no-build        measure the existing build
  --help`

export interface BenchOptions {
  readonly isHelpWanted: boolean
  readonly isQuick: boolean
  readonly questions: readonly Question[]
  readonly servers: readonly TargetName[] | undefined
  readonly rounds: number | undefined
  readonly jsonFile: string | undefined
  readonly isBuildWanted: boolean
}

/** Throws on an unknown option and on an invalid value. */
export function readOptions(args: string[]): BenchOptions {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      list: { type: 'boolean', default: false },
      servers: { type: 'string' },
      rounds: { type: 'string' },
      json: { type: 'string' },
      'no-build': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  return {
    isHelpWanted: values.help,
    isQuick: values.quick,
    questions: chooseQuestions(values.only, { hasList: values.list, isQuick: values.quick }),
    servers: values.servers ? chooseNames(values.servers, targetNames) : undefined,
    rounds: values.rounds ? readCount(values.rounds) : undefined,
    jsonFile: values.json,
    isBuildWanted: !values['no-build'],
  }
}

interface Choice {
  readonly hasList: boolean
  readonly isQuick: boolean
}

function chooseQuestions(only: string | undefined, { hasList, isQuick }: Choice): Question[] {
  if (!only) return questions.filter(({ name, isLong }) => (name === 'list' ? hasList : !(isQuick && isLong)))
  const names = chooseNames(only, questionNames)
  return questions.filter(({ name }) => names.includes(name) || (hasList && name === 'list'))
}

function chooseNames<Name extends string>(text: string, known: readonly Name[]): Name[] {
  return text.split(',').map((name) => {
    const found = known.find((each) => each === name)
    if (found === undefined) throw new Error(`Unknown name: "${name}"; pass one of ${known.join(', ')}`)
    return found
  })
}

function readCount(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count > 0) return count
  throw new Error(`Invalid value of --rounds: "${text}"; pass a whole number above 0`)
}
