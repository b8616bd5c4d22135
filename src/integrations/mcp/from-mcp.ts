/** An MCP server as an agent: its tools are the skills, and a message is a call. */
import { type Agent, type AgentInit, agent, initOf, type SkillInit, type Turn } from '../../engine/agent.js'
import { artifact, ask, failed, rejected, type StatusDraft, working, type Yield } from '../../engine/yields.js'
import { fromJsonSchema } from '../../model/from-json-schema.js'
import { isStruct } from '../../model/json-schema.js'
import { data, type JsonValue, type Part, type Struct, text } from '../../model/part.js'
import { parseJson } from '../json.js'
import {
  callTool,
  declineOpenQuestions,
  type McpCall,
  type McpClient,
  type McpResult,
  type McpTool,
  questionsIn,
  toolsOf,
} from './mcp-client.js'

/** The state of a call that asked, kept until the answer arrives. */
const openCall = 'mcp-call'
/** A server may answer with a state only, to be called again. */
const maxRounds = 10
const roundMs = 1000

/**
 * Makes an agent of an MCP server. Each tool is a skill with the schema of its arguments. A message with a data part calls
 * the tool that it names in `metadata.skillId`, or else the tool whose schema accepts the data.
 *
 * ```ts
 * const files = await fromMcp(client, { name: 'Files' })
 * await serve(files)
 * ```
 *
 * `client` is connected, and of 2.x or 1.x. The tools are read once. Questions of servers of revision 2026-07-28 become
 * questions of the task; this needs a client of 2.x with `versionNegotiation: { mode: 'auto' }` and the capability
 * `elicitation`. Questions of older servers are declined.
 */
export async function fromMcp(client: McpClient, card: string | Omit<AgentInit, 'skills'>): Promise<Agent> {
  const init = initOf(card, "`fromMcp` needs a name for the agent: fromMcp(client, 'Files')")
  if (typeof client?.listTools !== 'function')
    throw new TypeError("`fromMcp` needs a connected MCP client: await fromMcp(client, 'Files')")
  const tools = await toolsOf(client)
  declineOpenQuestions(client)
  const skills = [...tools.values()].map(skillOf)
  return agent<readonly SkillInit[]>({ ...init, skills }, (turn) => handle(client, tools, skills, turn))
}

function skillOf(tool: McpTool): SkillInit {
  const { name, title = name, description = title, inputSchema } = tool
  return { id: name, name: title, description, tags: ['mcp'], ...inputOf(inputSchema) }
}

/** A schema that is invalid or too large is not published: the server checks the arguments. */
function inputOf(schema: Struct | undefined): Pick<SkillInit, 'input'> {
  try {
    return schema ? { input: fromJsonSchema(schema) } : {}
  } catch {
    return {}
  }
}

async function* handle(
  client: McpClient,
  tools: ReadonlyMap<string, McpTool>,
  skills: readonly SkillInit[],
  turn: Turn<unknown>,
): AsyncGenerator<Yield, void, void> {
  const asked = turn.checkpoints.get(openCall) as AskedCall | undefined // written by `question`
  // Messages that follow the answer do not answer again.
  const isOpen = asked !== undefined && asked.turn >= turn.number - 1
  if (isOpen && !isAnswer(asked, turn)) {
    await turn.checkpoint(openCall, { ...asked, turn: turn.number } as unknown as JsonValue) // read as JSON
    yield withForm(asked)
    return
  }
  const call = isOpen ? answered(asked, turn) : await callOf(tools, skills, turn)
  if (typeof call === 'string') {
    // A later message that calls nothing leaves the results of the task as they are.
    yield turn.number === 1 ? rejected(call) : working(call)
    return
  }
  const tool = tools.get(call.name)
  if (!tool) {
    yield rejected(`The MCP server has no tool ${call.name} any more`)
    return
  }
  // The task is visible from here on, so that callers can cancel it.
  yield working()
  let next: McpCall = call
  for (let round = 0; round < maxRounds; round++) {
    const result = yield* calling(client, next, tool, turn)
    const questions = questionsIn(result)
    if (!questions) {
      yield* output(result)
      return
    }
    const requestState = typeof result.requestState === 'string' ? result.requestState : undefined
    const { inputResponses: _, requestState: __, ...again } = next
    next = { ...again, ...(requestState !== undefined && { requestState }) }
    if (questions.size > 0) {
      yield await question(questions, next, turn)
      return
    }
    await pause(turn.signal)
  }
  yield failed('The MCP server did not finish the call')
}

/** Calls the tool and yields its progress. */
async function* calling(
  client: McpClient,
  call: McpCall,
  tool: McpTool,
  { signal }: Turn<unknown>,
): AsyncGenerator<Yield, McpResult, void> {
  const progress: string[] = []
  let wake = () => {}
  let result: McpResult | undefined
  const running = callTool(client, call, tool, {
    signal,
    onprogress: ({ message, progress: done, total }) => {
      progress.push(message ?? (total === undefined ? String(done) : `${done} of ${total}`))
      wake()
    },
  }).then((value) => {
    result = value
  })
  while (result === undefined) {
    if (progress.length === 0)
      await Promise.race([
        running,
        new Promise<void>((resolve) => {
          wake = resolve
        }),
      ])
    for (const message of progress.splice(0)) yield working(message)
  }
  return result
}

/**
 * The tool and its arguments, or the reason why there is none. A later message is a call only if it names its tool or has
 * arguments for one: others, such as thanks, must not repeat the call.
 */
async function callOf(tools: ReadonlyMap<string, McpTool>, skills: readonly SkillInit[], turn: Turn<unknown>) {
  const given = dataOf(turn)
  const named = turn.message.metadata?.skillId ?? turn.metadata.skillId
  const isFirst = turn.number === 1
  let fitting: readonly string[] = []
  if (typeof named === 'string') fitting = [named]
  else if (isFirst && skills.length === 1) fitting = [...tools.keys()]
  else if (isFirst || given) fitting = await toolsThatTake(tools, skills, given)
  const tool = fitting.length === 1 ? tools.get(String(fitting[0])) : undefined
  if (!tool) return `Name one of these tools in metadata.skillId: ${[...tools.keys()].join(', ')}`.slice(0, 2000)
  return { name: tool.name, arguments: given ?? {} } satisfies McpCall
}

/** The tools that know all of the arguments and accept them. */
async function toolsThatTake(
  tools: ReadonlyMap<string, McpTool>,
  skills: readonly SkillInit[],
  given: Struct = {},
): Promise<readonly string[]> {
  const names = Object.keys(given)
  const taken = skills.map(async ({ id, input }) => {
    const properties = tools.get(id)?.inputSchema?.properties
    const isKnown = names.every((name) => isStruct(properties) && Object.hasOwn(properties, name))
    return isKnown && input && !(await input['~standard'].validate(given)).issues ? [id] : []
  })
  return (await Promise.all(taken)).flat()
}

/** The data part of the message, or its text if that is a JSON object. */
function dataOf(turn: Turn<unknown>): Struct | undefined {
  const value = turn.data() as JsonValue | undefined // the engine keeps JSON
  if (isStruct(value)) return value
  const parsed = parseJson(turn.text, undefined)
  return isStruct(parsed) ? parsed : undefined
}

/** A call that asked: what to send with the answers. */
interface AskedCall extends Form {
  /** The number of the turn that asked. The next turn answers. */
  readonly turn: number
  readonly call: McpCall
  /** The mode of each question by its key, and the first field of its form. */
  readonly questions: { readonly [key: string]: { readonly isForm: boolean; readonly field?: string } }
}

/** The questions of a call, in one form. */
interface Form {
  readonly said: string
  readonly schema?: Struct | undefined
}

/** Asks the questions of the server in one form, and keeps the call. */
async function question(
  questions: ReadonlyMap<string, Struct>,
  call: McpCall,
  turn: Turn<unknown>,
): Promise<StatusDraft> {
  const texts: string[] = []
  const forms = new Map<string, Struct>()
  const kept: Record<string, { isForm: boolean; field?: string }> = {}
  for (const [key, { method, params }] of questions) {
    if (method !== 'elicitation/create' || !isStruct(params))
      return failed(`The MCP server asks for ${String(method).slice(0, 100)}, which is not supported`)
    const { message, mode, url, requestedSchema } = params
    const isForm = mode !== 'url'
    texts.push([message, isForm ? undefined : url].filter((each) => typeof each === 'string').join('\n'))
    const schema = isStruct(requestedSchema) ? requestedSchema : {}
    const [field] = isStruct(schema.properties) ? Object.keys(schema.properties) : []
    kept[key] = { isForm, ...(field !== undefined && { field }) }
    if (isForm) forms.set(key, schema)
  }
  const schema = schemaFor(forms)
  const form: Form = { said: texts.join('\n\n'), ...(schema && { schema }) }
  const asked: AskedCall = { turn: turn.number, call, questions: kept, ...form }
  await turn.checkpoint(openCall, asked as unknown as JsonValue) // built from JSON
  return withForm(form)
}

/** One form for all questions; undefined if no question has a form. */
function schemaFor(forms: ReadonlyMap<string, Struct>): Struct | undefined {
  if (forms.size < 2) return [...forms.values()][0]
  return { type: 'object', properties: Object.fromEntries(forms), required: [...forms.keys()] }
}

function withForm({ said, schema }: Form): StatusDraft {
  try {
    return schema ? ask(said, { schema }) : ask(said)
  } catch {
    return ask(said) // the server sent an invalid schema, and checks the answer itself
  }
}

/**
 * Whether the message of the turn answers the question. It does not if it was sent before the question, or if an earlier
 * attempt of this turn stored the question and died before it asked.
 */
function isAnswer(asked: AskedCall, { number, history, message }: Turn<unknown>): boolean {
  const place = history.findIndex(({ messageId }) => messageId === message.messageId)
  return asked.turn < number && (place < 1 || history[place - 1]?.role === 'ROLE_AGENT')
}

/** The call with the answers of the turn. */
function answered({ call, questions }: AskedCall, turn: Turn<unknown>): McpCall {
  const given = dataOf(turn)
  const forms = Object.values(questions).filter(({ isForm }) => isForm).length
  const responses = Object.entries(questions).map(([key, { isForm, field = 'answer' }]): [string, Struct] => {
    if (!isForm) return [key, { action: 'accept' }]
    const own = forms === 1 ? given : given?.[key]
    return [key, { action: 'accept', content: isStruct(own) ? own : { [field]: turn.text } }]
  })
  return { ...call, inputResponses: Object.fromEntries(responses) }
}

async function pause(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, roundMs)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
  })
  signal.throwIfAborted()
}

/** The result of a tool as the result of the task. */
function* output(result: McpResult): Generator<Yield, void, void> {
  const blocks = Array.isArray(result.content) ? (result.content as readonly JsonValue[]).filter(isStruct) : []
  const { structuredContent } = result
  if (result.isError === true) {
    const said = blocks.flatMap((block) => (typeof block.text === 'string' ? [block.text] : [])).join('\n')
    yield failed(said || 'The tool failed')
    return
  }
  const parts = blocks.flatMap((block) => partOf(block) ?? [])
  // Servers repeat structured content as text for older clients.
  const own = parts.filter((part) => structuredContent === undefined || !repeats(part, structuredContent))
  if (structuredContent !== undefined) own.push(data(structuredContent))
  if (own.length > 0) yield artifact('result', own)
}

function repeats(part: Part, value: JsonValue): boolean {
  if (!('text' in part)) return false
  const parsed = parseJson(part.text, undefined)
  return parsed !== undefined && JSON.stringify(parsed) === JSON.stringify(value)
}

function partOf(block: Struct): Part | undefined {
  const { type, text: said, data: raw, mimeType, uri, name, resource } = block
  const mediaType = typeof mimeType === 'string' ? { mediaType: mimeType } : {}
  if (type === 'text' && typeof said === 'string') return text(said)
  if ((type === 'image' || type === 'audio') && typeof raw === 'string') return { raw, ...mediaType }
  if (type === 'resource_link' && typeof uri === 'string')
    return { url: uri, ...mediaType, ...(typeof name === 'string' && { filename: name }) }
  return type === 'resource' && isStruct(resource) ? resourcePart(resource) : undefined
}

function resourcePart({ uri, text: said, blob, mimeType }: Struct): Part | undefined {
  const filename = typeof uri === 'string' ? uri.split('/').at(-1) : undefined
  const facts = {
    ...(typeof mimeType === 'string' && { mediaType: mimeType }),
    ...(filename ? { filename } : {}),
  }
  if (typeof said === 'string') return { text: said, ...facts }
  return typeof blob === 'string' ? { raw: blob, ...facts } : undefined
}
