/** Interrupts of a graph as questions, and answers as the values that resume it. */
import type { Turn } from '../../engine/agent.js'
import { approve, ask, type StatusDraft } from '../../engine/yields.js'
import { isObject } from '../../model/is-object.js'
import { isStruct } from '../../model/json-schema.js'
import { data, type JsonValue, type Part, type Struct, text } from '../../model/part.js'
import { toJson } from '../json.js'
import type { Interrupt } from './graph.js'

/** Asks the open questions: one as it is, several as one form with a field for each. */
export function questionOf(interrupts: readonly Interrupt[]): StatusDraft {
  const [only] = interrupts
  if (only && interrupts.length === 1) {
    const actions = actionsOf(only)
    if (actions) return approve(actions.map(({ name, args }, place) => ({ id: actionId(place), name, args })))
    const schema = schemaOf(only)
    return ask(partsOf(only), schema ? { schema } : {})
  }
  const properties: Record<string, JsonValue> = {}
  for (const [place, interrupt] of interrupts.entries())
    properties[fieldName(place)] = { title: textOf(interrupt), ...(schemaOf(interrupt) ?? { type: 'string' }) }
  const required = Object.keys(properties)
  return ask(interrupts.map(textOf).join('\n'), { schema: { type: 'object', properties, required } })
}

/** The value of `Command({ resume })` for the message that answers the open questions. */
export function resumeOf(interrupts: readonly Interrupt[], turn: Turn): unknown {
  const [only] = interrupts
  if (only && interrupts.length === 1) return byId(only, answerTo(only, turn))
  const form = turn.data()
  const answers = interrupts.map((interrupt, place) =>
    byId(interrupt, isStruct(form) ? form[fieldName(place)] : turn.text),
  )
  return Object.assign({}, ...answers) as unknown
}

/** LangGraph finds the node by the id of its interrupt. Older checkpoints have interrupts without ids. */
function byId({ id }: Interrupt, answer: unknown): unknown {
  return id === undefined ? answer : { [id]: answer }
}

function answerTo(interrupt: Interrupt, turn: Turn): unknown {
  const actions = actionsOf(interrupt)
  if (!actions) return turn.data() ?? turn.text
  // LangChain reads decisions by position, so each is looked up by the id of its action.
  const decisions = actions.map((_, place) => {
    const { approved = false, reason } = turn.approvals?.get(actionId(place)) ?? {}
    return approved ? { type: 'approve' } : { type: 'reject', ...(reason !== undefined && { message: reason }) }
  })
  return { decisions }
}

function actionId(place: number): string {
  return String(place + 1)
}

function fieldName(place: number): string {
  return `answer_${place + 1}`
}

function schemaOf({ response_schema: schema }: Interrupt): Struct | undefined {
  const json = toJson(schema)
  return isStruct(json) ? json : undefined
}

function partsOf(interrupt: Interrupt): readonly Part[] {
  const { value } = interrupt
  const json = typeof value === 'string' ? undefined : toJson(value)
  return [text(textOf(interrupt)), ...(json === undefined ? [] : [data(json)])]
}

/** Names of the text in values that are objects: nodes choose them. */
const textNames = ['question', 'message', 'description', 'text', 'title']

function textOf({ value }: Interrupt): string {
  if (typeof value === 'string' && value !== '') return value
  if (isObject(value))
    for (const name of textNames) {
      const found = value[name]
      if (typeof found === 'string' && found !== '') return found
    }
  return JSON.stringify(value) ?? 'The graph waits for an answer'
}

interface Action {
  readonly name: string
  readonly args: JsonValue
}

/** The tool calls of LangChain's `humanInTheLoopMiddleware`, if each may be approved and rejected. */
function actionsOf({ value }: Interrupt): readonly Action[] | undefined {
  if (!isObject(value) || !Array.isArray(value.actionRequests) || !Array.isArray(value.reviewConfigs)) return undefined
  const allowed = (value.reviewConfigs as unknown[]).every(
    (config) =>
      isObject(config) &&
      Array.isArray(config.allowedDecisions) &&
      ['approve', 'reject'].every((decision) => (config.allowedDecisions as unknown[]).includes(decision)),
  )
  const actions = (value.actionRequests as unknown[]).flatMap((action) =>
    isObject(action) && typeof action.name === 'string' ? [{ name: action.name, args: toJson(action.args) ?? {} }] : [],
  )
  return allowed && actions.length > 0 && actions.length === value.actionRequests.length ? actions : undefined
}
