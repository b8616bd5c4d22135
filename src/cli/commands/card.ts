import { Command } from 'commander'
import { type AgentCard, type Verification, verifyCard } from '../../client/index.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import { isObject } from '../../model/is-object.js'
import { type CardReport, validateCard } from '../../server/index.js'
import { type AgentOptions, addAgentOptions, agentHelp, requireArguments, withAgent } from '../agent-options.js'
import { cardText, choiceText, signatureText } from '../card-text.js'
import { originOf } from '../credentials.js'
import { exitCodes } from '../failure.js'
import { Output } from '../output.js'
import { oneLine, onStdout, printableJson, table } from '../printable.js'
import { readRawCard } from '../raw-card.js'
import { readTrustedKeys } from '../signing-keys.js'

const cardHelp = `${agentHelp}; or the path of a JSON file`

export function cardCommand(): Command {
  const command = new Command('card').description('Print, validate and compare agent cards')
  for (const create of [getCommand, validateCommand, diffCommand]) command.addCommand(create())
  return command
}

interface GetOptions extends AgentOptions {
  readonly why?: true
  readonly raw?: true
  readonly extended?: true
}

function getCommand(): Command {
  return addAgentOptions(
    new Command('get')
      .description('Print the card of an agent and the interface that a client chooses')
      .argument('[agent]', agentHelp)
      .option('-v, --why', 'print the reasons for the choice of the interface')
      .option('--raw', 'print the card as the agent sent it, in its own version')
      .option('--extended', 'print the extended card, which agents send to authenticated callers'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman card get localhost:8001 --why
  dragoman card get https://agent.example/.well-known/agent.json --raw
  dragoman card get localhost:8001 -o json | jq .skills`,
    )
    .action(async (first: string | undefined, options: GetOptions) => {
      const [ref] = requireArguments([first], options, [])
      if (options.raw) {
        const { raw } = await readRawCard(ref, options, new Output(options.output))
        process.stdout.write(`${printableJson(raw, 2)}\n`)
        return
      }
      await withAgent(ref, options, async (agent, output) => {
        const { choice } = agent
        const card = options.extended ? await agent.getExtendedAgentCard({}) : agent.card
        const signature = options.extended ? await verifyExtended(card, ref, options) : agent.signature
        output.result(options.why ? { card, choice, signature } : card, () =>
          output.safe([cardText(card, signature), choiceText(choice, options.why === true)].join('\n\n')),
        )
      })
    })
}

/** The extended card has signatures of its own; those of the public card say nothing about it. */
async function verifyExtended(card: AgentCard, ref: string, { signed }: GetOptions): Promise<Verification> {
  const origin = originOf(ref)
  return await verifyCard(
    { raw: card, ...(canParseUrl(origin) && { origin }) },
    { policy: signed ? 'require' : 'warn' },
  )
}

interface ValidateOptions extends AgentOptions {
  readonly keys?: string
}

function validateCommand(): Command {
  return addAgentOptions(
    new Command('validate')
      .description('Check a card against the rules of its version, and its signature')
      .argument('[card]', cardHelp)
      .option('--keys <path>', 'trusted public keys, as a JWK or a JWK set (default: the keys of the card’s host)'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman card validate localhost:8001
  dragoman card validate ./agent-card.json -o json
  dragoman card validate ./agent-card.json --signed --keys ./jwks.json

The exit code is 1 if the card or its signature is invalid.`,
    )
    .action(async (first: string | undefined, options: ValidateOptions) => {
      const [ref] = requireArguments([first], options, [])
      const output = new Output(options.output)
      const keys = options.keys === undefined ? undefined : await readTrustedKeys(options.keys)
      const read = readRawCard(ref, options, output, keys)
      const { raw, source, signature } = await output.withSpinner('Reading', read)
      const report = validateCard(raw)
      output.result({ source, ...report, signature }, () => reportText(report, source, signature))
      if (!report.isValid || signature.state === 'invalid') process.exitCode = exitCodes.error
    })
}

function reportText({ version, problems, isValid }: CardReport, source: string, signature: Verification): string {
  const name = version === 'unknown' ? 'a card of an unknown version' : `a ${version} card`
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const counts = [`${errors} ${errors === 1 ? 'error' : 'errors'}`, `${problems.length - errors} warnings`].join(', ')
  const verdict = isValid ? onStdout.green('valid') : onStdout.red('not valid')
  const head = `${oneLine(source)}: ${name}, ${verdict}${problems.length > 0 ? ` (${counts})` : ''}`
  const rows = problems.map(({ severity, path, message, requirement }) => [
    // Padded here: `table` counts the characters of colour codes too.
    severity === 'error' ? onStdout.red('error  ') : onStdout.yellow('warning'),
    oneLine(path) || '(card)',
    `${oneLine(message)} (${requirement})`,
  ])
  const signed = signature.state === 'absent' ? [] : [`signature ${oneLine(signatureText(signature))}`]
  return [head, ...signed, ...(rows.length > 0 ? [table(rows)] : [])].join('\n')
}

interface DiffOptions extends AgentOptions {
  readonly exitCode?: true
}

function diffCommand(): Command {
  return addAgentOptions(
    new Command('diff')
      .description('Compare two cards, field by field')
      .argument('[card]', cardHelp)
      .argument('[card2]', 'the card to compare it with')
      .option('--exit-code', 'exit with code 1 if the cards differ'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman card diff ./agent-card.json https://agent.example
  dragoman card diff staging.example agent.example --exit-code`,
    )
    .action(async (first: string | undefined, second: string | undefined, options: DiffOptions) => {
      const [ref, ref2] = requireArguments([first, second], options, ['the card to compare it with'])
      const output = new Output(options.output)
      const read = Promise.all([readRawCard(ref, options, output), readRawCard(ref2, options, output)])
      const [before, after] = await output.withSpinner('Reading', read)
      const differences = diffCards(before.raw, after.raw)
      output.result({ before: before.source, after: after.source, differences }, () =>
        differences.length === 0 ? 'The cards are the same' : differences.map(differenceText).join('\n'),
      )
      if (options.exitCode && differences.length > 0) process.exitCode = exitCodes.error
    })
}

function differenceText({ path, before, after }: Difference): string {
  const name = oneLine(path) || '(card)'
  if (before === undefined) return onStdout.green(`+ ${name}: ${clippedJson(after)}`)
  if (after === undefined) return onStdout.red(`- ${name}: ${clippedJson(before)}`)
  return `${onStdout.yellow(`~ ${name}:`)} ${clippedJson(before)} → ${clippedJson(after)}`
}

function clippedJson(value: unknown): string {
  const json = oneLine(JSON.stringify(value))
  return json.length > 200 ? `${json.slice(0, 200)}…` : json
}

export interface Difference {
  /** A JSON path such as `skills[echo].name`. */
  readonly path: string
  /** Absent: only the second card has the field. */
  readonly before?: unknown
  /** Absent: only the first card has the field. */
  readonly after?: unknown
}

const maxDepth = 50

export function diffCards(before: unknown, after: unknown): Difference[] {
  const found: Difference[] = []
  compare(before, after, '', found, 0)
  return found
}

function compare(before: unknown, after: unknown, path: string, found: Difference[], depth: number): void {
  const one = membersOf(before)
  const other = membersOf(after)
  if (!one || !other || Array.isArray(before) !== Array.isArray(after) || depth > maxDepth) {
    if (JSON.stringify(before) !== JSON.stringify(after)) found.push({ path: trimmed(path), before, after })
    return
  }
  for (const [name, value] of one) {
    if (other.has(name)) compare(value, other.get(name), path + name, found, depth + 1)
    else found.push({ path: trimmed(path + name), before: value })
  }
  for (const [name, value] of other) if (!one.has(name)) found.push({ path: trimmed(path + name), after: value })
}

/** Members by their path segment; undefined for primitive values. */
function membersOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (Array.isArray(value)) return new Map(segmentsOf(value).map((segment, index) => [segment, value[index]]))
  if (!isObject(value)) return undefined
  return new Map(Object.entries(value).map(([name, member]) => [`.${name}`, member]))
}

/** List items that have unique names are compared by name, at any position. */
function segmentsOf(list: readonly unknown[]): string[] {
  const names = list.map(itemName)
  const areNames = names.every((name) => name !== undefined) && new Set(names).size === names.length
  return list.map((_, index) => `[${areNames ? names[index] : index}]`)
}

function itemName(item: unknown): string | undefined {
  if (typeof item === 'string') return item
  if (!isObject(item)) return undefined
  if (typeof item.id === 'string') return item.id
  if (typeof item.uri === 'string') return item.uri
  const binding = item.protocolBinding ?? item.transport
  if (typeof item.url !== 'string' || typeof binding !== 'string') return undefined
  return [binding, item.protocolVersion, item.url].filter((each) => typeof each === 'string').join(' ')
}

function trimmed(path: string): string {
  return path.replace(/^\./, '')
}
