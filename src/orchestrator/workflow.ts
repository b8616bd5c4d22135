import { type Agent, type AgentInit, agent, type InputOf, initOf, type SkillInit, type Turn } from '../engine/agent.js'
import { firstData } from '../engine/execution/turn.js'
import { artifact, working } from '../engine/yields.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { type JsonValue, textOf } from '../model/part.js'
import { abandonRun } from './abandon.js'

import type { WorkflowEnd } from './ending.js'
import type { Flow } from './flow.js'
import { stepsOf } from './flow-steps.js'
import { workflowUri } from './graph.js'
import { type AgentResolver, StepAgents } from './step-agents.js'
import { WorkflowRun } from './workflow-run.js'

export interface WorkflowOptions {
  /** Finds agents that are not served beside the workflow; default: names are taken for addresses. */
  readonly resolve?: AgentResolver
  /** For a whole run, questions included. Default: none. */
  readonly timeoutMs?: number
}

const optionNames = { resolve: true, timeoutMs: true } satisfies NamesOf<WorkflowOptions>

/** A run outlives its process; one that kills its process each time must end some day. */
const usualAttempts = 20

/**
 * Makes an agent whose work other agents do. Its function is ordinary code; each of its steps is done once, also
 * when the process dies in between.
 *
 * ```ts
 * const travel = workflow('Travel', async (flow) => {
 *   const flight = await flow.step('flight', { agent: 'FlightAgent', message: flow.text })
 *   const [hotel] = await Promise.all([
 *     flow.step('hotel', { agent: 'HotelAgent', message: ['Book a hotel for this flight', flight] }),
 *     flow.step('snowmobile', { agent: 'ActivityAgent', message: 'Book a snowmobile tour', after: [flight] }),
 *   ])
 *   return hotel
 * })
 * ```
 */
export function workflow<const Skills extends readonly SkillInit[] = readonly []>(
  card: string | AgentInit<Skills>,
  body: (flow: Flow<InputOf<Skills>>) => Promise<WorkflowEnd>,
  options: WorkflowOptions = {},
): Agent {
  const init = initOf(card, "A workflow needs a name and a function: workflow('Travel', async (flow) => { … })")
  if (typeof body !== 'function')
    throw new TypeError(
      `The function of workflow ${init.name} is missing: workflow('${init.name}', async (flow) => { … })`,
    )
  assertOptions('workflow', options, optionNames)
  const agents = new StepAgents(options.resolve)
  const hasSchemas = init.skills?.some(({ input }) => input !== undefined) ?? false
  const made = agent(withDefaults(init), (turn: Turn<unknown>) =>
    new WorkflowRun({
      name: init.name,
      turn,
      agents,
      // `data()` gives what the schemas of the same skills have checked.
      body: async (run) => await body((await flowOf(run, hasSchemas)) as Flow<InputOf<Skills>>),
      timeoutMs: options.timeoutMs,
    }).drive(),
  )
  return {
    ...made,
    isWorkflow: true,
    onAbandoned: (abandoned) => abandonRun({ ...abandoned, agents }),
    onDrained: () => agents.close(),
  }
}

function withDefaults(init: AgentInit): AgentInit {
  const { capabilities = {} } = init
  const declared = {
    uri: workflowUri,
    description: 'Runs of a workflow: the artifact `workflow-graph` shows their steps',
  }
  return {
    onCrash: { attempts: usualAttempts },
    ...init,
    capabilities: { ...capabilities, extensions: [...(capabilities.extensions ?? []), declared] },
  }
}

/** Of the message that began the run, whatever turn this is: the function has to do the same each time. */
async function flowOf(run: WorkflowRun, hasSchemas: boolean): Promise<Flow<unknown>> {
  const { turn } = run
  const message =
    turn.number === 1 ? turn.message : (turn.history.find(({ role }) => role === 'ROLE_USER') ?? turn.message)
  const input = turn.number === 1 ? turn.data() : (turn.checkpoints.get('input') ?? firstData(message))
  // Schemas may change what they check; later turns see only what was sent.
  if (hasSchemas && turn.number === 1 && input !== undefined) await run.note('input', input as JsonValue)
  return {
    ...stepsOf(run),
    text: textOf(message),
    message,
    data: () => input,
    contextId: turn.contextId,
    taskId: turn.task.id,
    caller: turn.caller,
    signal: turn.signal,
    artifact: (name, content, more) => run.tell(artifact(name, content, { ...more, id: `own/${name}` })),
    progress: (content) => run.tell(working(content)),
  }
}
