/**
 * Enforces security requirements of single skills. The protocol does not say which skill a message is for, so each
 * message is checked against every candidate: the skill named in its metadata (`skillId`), the skills whose schema
 * accepts its data, or all skills if neither applies. Callers cannot bypass a requirement by omitting the name, or by
 * naming one skill and sending the data of another.
 */
import { isMet, type Requirement, schemesOf } from '../auth/requirement.js'
import type { Agent, SkillInit } from '../engine/agent.js'
import { A2AError } from '../model/errors.js'
import type { JsonValue } from '../model/part.js'
import type { AgentService, CallContext, SendMessageRequest, StreamItem } from '../model/service.js'
import type { TaskState } from '../model/task.js'

/** Guards calls from outside. Agents of one server that call each other are not checked. */
export function guardSkills(service: AgentService, { card }: Agent, security: readonly Requirement[]): AgentService {
  const { skills = [] } = card
  const guarded = skills.filter(({ securityRequirements }) => securityRequirements?.length)
  if (guarded.length === 0) return service
  assertKnown(guarded, security)
  const check = async (request: SendMessageRequest, { caller }: CallContext): Promise<void> => {
    for (const { id, securityRequirements = [] } of await candidates(skills, request)) {
      if (securityRequirements.length === 0 || securityRequirements.some((each) => isMet(each, caller))) continue
      throw new A2AError('PERMISSION_DENIED', `The credentials are not valid for the skill ${id}`, {
        metadata: { skillId: id },
      })
    }
  }
  return {
    ...service,
    async sendMessage(request, context) {
      await check(request, context)
      return await service.sendMessage(request, context)
    },
    async *sendStreamingMessage(request, context): AsyncGenerator<StreamItem, void, void> {
      await check(request, context)
      yield* service.sendStreamingMessage(request, context)
    },
  }
}

/** The skills that a message can be for. Handlers may read any data part, so each one counts. */
async function candidates(skills: readonly SkillInit[], request: SendMessageRequest): Promise<Iterable<SkillInit>> {
  const named = namedSkills(skills, request)
  const found = new Set(named)
  let hasData = false
  for (const part of request.message.parts) {
    if (!('data' in part)) continue
    hasData = true
    const fitting = await skillsThatTake(skills, part.data)
    for (const skill of candidatesFor(fitting, named, skills)) found.add(skill)
  }
  return hasData || named.length > 0 ? found : skills
}

/** The skills that one data part can be for, given the skills that take it and those that the message names. */
function candidatesFor(
  fitting: readonly SkillInit[],
  named: readonly SkillInit[],
  skills: readonly SkillInit[],
): readonly SkillInit[] {
  if (named.length > 0) return named.every((skill) => fitting.includes(skill)) ? named : fitting
  return fitting.length > 0 ? skills.filter((skill) => !skill.input || fitting.includes(skill)) : skills
}

/** Skills named in the metadata of the message and of its request. An unknown name counts as no name. */
function namedSkills(skills: readonly SkillInit[], { message, metadata }: SendMessageRequest): readonly SkillInit[] {
  const names = [message.metadata?.skillId, metadata?.skillId].filter((name) => name !== undefined)
  const named = skills.filter(({ id }) => names.includes(id))
  return names.every((name) => named.some(({ id }) => id === name)) ? named : []
}

async function skillsThatTake(skills: readonly SkillInit[], data: JsonValue): Promise<readonly SkillInit[]> {
  const takes = await Promise.all(
    skills.map(async ({ input }) => input !== undefined && !(await input['~standard'].validate(data)).issues),
  )
  return skills.filter((_, place) => takes[place])
}

function assertKnown(guarded: readonly SkillInit[], security: readonly Requirement[]): void {
  const names = new Set(schemesOf(security).map(({ name }) => name))
  for (const { id, securityRequirements = [] } of guarded) {
    const missing = securityRequirements
      .flatMap(({ schemes = {} }) => Object.keys(schemes))
      .find((name) => !names.has(name))
    if (missing !== undefined)
      throw new TypeError(`The skill ${id} needs the scheme ${missing}, which \`auth\` does not have`)
  }
}

const open: readonly TaskState[] = ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED']

export function continueContext(service: AgentService): AgentService {
  const addressed = async (request: SendMessageRequest, context: CallContext): Promise<SendMessageRequest> => {
    const { taskId, contextId } = request.message
    if (taskId !== undefined || contextId === undefined) return request
    const pages = await Promise.all(
      open.map((status) =>
        service.listTasks({ contextId, status, pageSize: 2, historyLength: 0 }, withoutTraits(context)),
      ),
    )
    const [only, ...others] = pages.flatMap(({ tasks }) => tasks)
    if (!only || others.length > 0) return request
    return { ...request, message: { ...request.message, taskId: only.id } }
  }
  return {
    ...service,
    sendMessage: async (request, context) =>
      await service.sendMessage(context.continuesContext ? await addressed(request, context) : request, context),
    sendStreamingMessage: (request, context) =>
      context.continuesContext
        ? continued(service, addressed(request, context), context)
        : service.sendStreamingMessage(request, context),
  }
}

async function* continued(
  service: AgentService,
  request: Promise<SendMessageRequest>,
  context: CallContext,
): AsyncGenerator<StreamItem, void, void> {
  yield* service.sendStreamingMessage(await request, context)
}

/** The look-up must not use the idempotency key of the call, nor resume its stream. */
function withoutTraits({ caller, tenant, dialect }: CallContext): CallContext {
  return { caller, ...(tenant !== undefined && { tenant }), ...(dialect !== undefined && { dialect }) }
}
