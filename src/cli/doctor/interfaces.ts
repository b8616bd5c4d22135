/** Checks every interface of a card: that it answers, and that its errors follow the protocol. */

import { randomUUID } from 'node:crypto'
import type { AgentCard, AgentInterface, Choice, WireEntry } from '../../client/index.js'
import { clientDialects } from '../../dialects/index.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import { isObject } from '../../model/is-object.js'
import type { FoundCard } from './find-card.js'
import {
  anonymous,
  type CallOutcome,
  type CheckContext,
  type Finding,
  outcomeText,
  type Probe,
  probe,
  type Verdict,
} from './probe.js'

interface AnsweringInterface {
  readonly entry: AgentInterface
  readonly context: CheckContext
}

/** Returns the interfaces that answered, also those that require credentials. */
export async function checkInterfaces(found: FoundCard, context: CheckContext): Promise<AnsweringInterface[]> {
  const answering: AnsweringInterface[] = []
  for (const [place, declared] of found.card.supportedInterfaces.entries()) {
    const check = nameOf(declared)
    const rejected = found.choice.rejected?.find(({ index }) => index === place)
    if (rejected) {
      context.report({ check, ...findingAbout(rejected) })
      continue
    }
    const resolved = absolute(declared, found.url)
    const known = identityAt(resolved, found, context)
    const entry = found.hasVersion ? resolved : await detectVersion(found.card, resolved, known)
    const tried = await requestUnknownTask(known, found.card, entry)
    const finding = judge(tried, entry)
    context.report({ check: nameOf(entry), ...finding })
    if (!isThere(tried.outcome)) continue
    answering.push({ entry, context: known })
    if (entry.protocolVersion.startsWith('1.')) await checkVersion(known, found.card, entry)
  }
  return answering
}

/** Changes nothing at the agent: the task does not exist. */
function requestUnknownTask(context: CheckContext, card: AgentCard, entry: AgentInterface): Promise<Probe<unknown>> {
  return probe(context, { card, entry, identity: context.identity }, (agent, signal) =>
    agent.getTask({ id: randomUUID() }, { signal }),
  )
}

export function nameOf({ protocolBinding, protocolVersion }: AgentInterface): string {
  return `${protocolBinding} ${protocolVersion}`
}

/** Resolves URLs that are relative to the card. */
function absolute(entry: AgentInterface, cardUrl: string): AgentInterface {
  const isRelative = !canParseUrl(entry.url) && entry.url.startsWith('/') && canParseUrl(entry.url, cardUrl)
  return isRelative ? { ...entry, url: new URL(entry.url, cardUrl).href } : entry
}

/** Sends credentials only to the host and port that the user named, or allowed. */
function identityAt({ url }: AgentInterface, found: FoundCard, context: CheckContext): CheckContext {
  const { allowedOrigins = [] } = context.options
  const trusted = [found.url, ...allowedOrigins].map(hostOf)
  return allowedOrigins.includes('*') || trusted.includes(hostOf(url)) ? context : { ...context, identity: anonymous }
}

/** gRPC addresses have no scheme. */
function hostOf(address: string): string {
  const absoluteUrl = /^[a-z][a-z\d+.-]*:\/\//i.test(address) ? address : `grpc://${address}`
  return canParseUrl(absoluteUrl) ? new URL(absoluteUrl).host : ''
}

/** Interfaces that clients reject are not called here either: a card must not direct calls to arbitrary addresses. */
function findingAbout({ cause, problem }: NonNullable<Choice['rejected']>[number]): Judgement {
  return cause === 'address'
    ? { verdict: 'warning', what: `clients reject it, and it was not called: ${problem}` }
    : { verdict: 'skipped', what: `cannot be checked: ${problem}` }
}

function isThere(outcome: CallOutcome<unknown>): boolean {
  return 'value' in outcome || ('refusal' in outcome && outcome.refusal !== 'INVALID_AGENT_RESPONSE')
}

type Judgement = Omit<Finding, 'check'>

function judge({ outcome, wire, ms }: Probe<unknown>, { url, protocolVersion }: AgentInterface): Judgement {
  if ('value' in outcome)
    return { verdict: 'problem', what: `${url} returned a task for an unknown id`, advice: 'answer TASK_NOT_FOUND' }
  if ('failure' in outcome || outcome.refusal === 'INVALID_AGENT_RESPONSE')
    return {
      verdict: 'problem',
      what: `declared at ${url}, but it does not answer: ${outcome.message}`,
      advice: 'serve it, or remove it from the card',
    }
  const { refusal } = outcome
  if (refusal === 'UNAUTHENTICATED' || refusal === 'PERMISSION_DENIED')
    return { verdict: 'ok', what: `answers at ${url} (${ms} ms) and requires credentials` }
  if (refusal === 'METHOD_NOT_FOUND' || refusal === 'VERSION_NOT_SUPPORTED')
    return {
      verdict: 'problem',
      what: `${url} does not support the declared version: ${outcomeText(outcome)}`,
      advice: 'serve this version there, or correct the card',
    }
  const [fault] = notFoundFaults(wire, protocolVersion)
  if (refusal === 'TASK_NOT_FOUND' && !fault)
    return { verdict: 'ok', what: `answers at ${url} (${ms} ms), and reports an unknown task correctly` }
  return {
    verdict: refusal === 'TASK_NOT_FOUND' && fault ? fault.verdict : 'problem',
    what: `${url} reports an unknown task incorrectly: ${fault?.what ?? outcomeText(outcome)}`,
    advice: 'answer with TaskNotFoundError in the form of the protocol',
  }
}

/** Skips gRPC, where the client always sends its own version. */
async function checkVersion(context: CheckContext, card: AgentCard, entry: AgentInterface): Promise<void> {
  if (entry.protocolBinding.toUpperCase() === 'GRPC') return
  const identity = { ...context.identity, headers: { ...context.identity.headers, 'A2A-Version': '99.0' } }
  const { outcome } = await probe(context, { card, entry, identity }, (agent, signal) =>
    agent.getTask({ id: randomUUID() }, { signal }),
  )
  if ('refusal' in outcome && (outcome.refusal === 'UNAUTHENTICATED' || outcome.refusal === 'PERMISSION_DENIED')) return
  const isRight = 'refusal' in outcome && outcome.refusal === 'VERSION_NOT_SUPPORTED'
  const isIgnored = 'value' in outcome || ('refusal' in outcome && outcome.refusal === 'TASK_NOT_FOUND')
  context.report({
    check: nameOf(entry),
    verdict: isRight ? 'ok' : isIgnored ? 'problem' : 'warning',
    what: isRight
      ? 'rejects an unknown version'
      : isIgnored
        ? 'A2A-Version is ignored: a call with version 99.0 succeeds (R-VER-4)'
        : `a call with A2A-Version 99.0 gets ${outcomeText(outcome)}`,
    ...(!isRight && { advice: 'answer VersionNotSupportedError to other versions' }),
  })
}

/**
 * Cards of 0.2 and older need not declare their version, and most of their methods have the same names. The methods for
 * webhooks differ, so a request for an unknown webhook reveals the version and changes nothing.
 */
async function detectVersion(card: AgentCard, entry: AgentInterface, context: CheckContext): Promise<AgentInterface> {
  if (!(await isUnknownMethod(card, entry, context))) return entry
  const alternative = alternativeTo(entry.protocolVersion)
  if (alternative === undefined) return entry
  const newer: AgentInterface = { ...entry, protocolVersion: alternative }
  if (await isUnknownMethod(card, newer, context)) return entry
  context.report({
    check: 'version',
    verdict: 'warning',
    what: `the card declares no version and has the form of ${entry.protocolVersion}, but the agent supports the methods of ${alternative} only`,
    advice: 'declare protocolVersion in the card',
  })
  return newer
}

/** The oldest version of the dialect that an agent with such a card may support instead. */
function alternativeTo(version: string): string | undefined {
  const [name] = clientDialects.find(({ cardVersion }) => cardVersion === version)?.card?.alternatives ?? []
  return clientDialects.find((each) => each.name === name)?.versions.at(-1)
}

async function isUnknownMethod(card: AgentCard, entry: AgentInterface, context: CheckContext): Promise<boolean> {
  const { outcome } = await probe(context, { card, entry, identity: context.identity }, (agent, signal) =>
    agent.getTaskPushNotificationConfig({ taskId: randomUUID(), id: randomUUID() }, { signal }),
  )
  return 'refusal' in outcome && outcome.refusal === 'METHOD_NOT_FOUND'
}

interface Fault {
  readonly verdict: Extract<Verdict, 'warning' | 'problem'>
  readonly what: string
}

type Json = Readonly<Record<string, unknown>>

const notFound = { rpc: -32001, http: 404, grpc: 'NOT_FOUND' }

/** Checks that the last answer reports an unknown task in the form of the protocol; returns faults, worst first. */
export function notFoundFaults(wire: readonly WireEntry[], version: string): Fault[] {
  const answer = wire.findLast(({ direction }) => direction === 'response')
  if (!answer) return []
  const isCurrent = version.startsWith('1.')
  const faults =
    answer.binding === 'GRPC'
      ? grpcFaults(answer)
      : answer.binding === 'JSONRPC'
        ? rpcFaults(answer, isCurrent)
        : restFaults(answer, isCurrent)
  return faults.sort((one, other) => rank(one) - rank(other))
}

function rank({ verdict }: Fault): number {
  return verdict === 'problem' ? 0 : 1
}

function rpcFaults({ status, body }: WireEntry, isCurrent: boolean): Fault[] {
  const answer = parse(body)
  const error = answer?.error
  if (!answer || !isObject(error)) return [problem('the answer is not a JSON-RPC error')]
  const faults: Fault[] = []
  if (error.code !== notFound.rpc)
    faults.push(problem(`the error code is ${show(error.code)}, expected ${notFound.rpc}`))
  if (answer.jsonrpc !== '2.0') faults.push(problem('the answer lacks `"jsonrpc": "2.0"`'))
  if (typeof error.message !== 'string') faults.push(problem('the error has no message'))
  if (isCurrent && status !== 200) faults.push(warning(`the HTTP status is ${show(status)}, expected 200`))
  if (!isCurrent || error.data === undefined || error.data === null) return faults
  if (!Array.isArray(error.data)) faults.push(warning('`error.data` is not an array (R-ERR-4)'))
  return faults
}

function restFaults({ status, body }: WireEntry, isCurrent: boolean): Fault[] {
  const faults: Fault[] = []
  if (status !== notFound.http) faults.push(problem(`the HTTP status is ${show(status)}, expected ${notFound.http}`))
  if (!isCurrent) return faults
  const error = parse(body)?.error
  if (!isObject(error)) return [...faults, warning('the body has no `error` (R-ERR-5)')]
  if (error.code !== status)
    faults.push(warning(`\`error.code\` is ${show(error.code)}, expected the HTTP status (R-ERR-5)`))
  if (typeof error.status !== 'string') faults.push(warning('`error.status` is missing (R-ERR-5)'))
  const details: unknown[] = Array.isArray(error.details) ? error.details : []
  const info = details.filter(isObject).find((each) => String(each['@type']).endsWith('google.rpc.ErrorInfo'))
  if (info?.reason !== 'TASK_NOT_FOUND')
    faults.push(warning('`error.details` has no ErrorInfo with the reason TASK_NOT_FOUND (R-ERR-2)'))
  return faults
}

function grpcFaults({ status }: WireEntry): Fault[] {
  return status === notFound.grpc ? [] : [problem(`the gRPC status is ${show(status)}, expected ${notFound.grpc}`)]
}

function parse(body: unknown): Json | undefined {
  try {
    const value = JSON.parse(String(body)) as unknown
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function problem(what: string): Fault {
  return { verdict: 'problem', what }
}

function warning(what: string): Fault {
  return { verdict: 'warning', what }
}

function show(value: unknown): string {
  return (JSON.stringify(value) ?? 'missing').slice(0, 80)
}
