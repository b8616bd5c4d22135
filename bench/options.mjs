import { parseArgs } from 'node:util'
import { questions } from './questions/index.mjs'
import { contestants } from './servers/contestants.mjs'

export const usage = `Usage: npm run bench -- [options]

  --quick           fewer and shorter rounds, for a look; never for a figure you quote
  --only NAMES      questions to ask: ${questions.map(({ name }) => name).join(', ')}
  --list            also ask the list question (fills a store with a million tasks)
  --servers NAMES   whom to measure: ${Object.keys(contestants).join(', ')}
  --rounds N        rounds per question
  --json FILE       write everything into one file as well
  --no-build        measure what is already built
  --help`

/** @param {string[]} args */
export function readOptions(args) {
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
    questions: chooseQuestions(values),
    servers: values.servers && chooseNames(values.servers, Object.keys(contestants)),
    rounds: values.rounds && countOf(values.rounds),
    jsonFile: values.json,
    isBuildWanted: !values['no-build'],
  }
}

function chooseQuestions({ only, list }) {
  if (!only) return questions.filter(({ name }) => list || name !== 'list')
  const names = chooseNames(
    only,
    questions.map(({ name }) => name),
  )
  return questions.filter(({ name }) => names.includes(name) || (list && name === 'list'))
}

function chooseNames(text, known) {
  const names = text.split(',')
  const unknown = names.find((name) => !known.includes(name))
  if (unknown === undefined) return names
  throw new Error(`"${unknown}" is none of ${known.join(', ')}`)
}

function countOf(text) {
  const count = Number(text)
  if (Number.isInteger(count) && count > 0) return count
  throw new Error(`--rounds takes a whole number above 0, not "${text}"`)
}
