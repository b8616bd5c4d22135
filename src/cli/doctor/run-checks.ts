/** Runs all checks of `dragoman doctor`: connection, card, interfaces, security, push, streams. */
import { randomUUID } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { AgentCard, AgentInterface, ErrorCode } from '../../client/index.js'
import { canParseUrl } from '../../model/can-parse-url.js'
import { validateCard } from '../../server/index.js'
import { type FoundCard, findCard } from './find-card.js'
import { checkInterfaces } from './interfaces.js'
import {
  anonymous,
  type CheckContext,
  type DoctorReport,
  type Finding,
  type Health,
  type Identity,
  outcomeText,
  type Probe,
  probe,
} from './probe.js'
import { checkSending, checkSubscription } from './streams.js'

interface DoctorOptions {
  readonly ref: string
  /** Text of the message; absent: no message is sent. */
  readonly text?: string
}

export async function runChecks({ ref, text }: DoctorOptions, given: CheckContext): Promise<DoctorReport> {
  const findings: Finding[] = []
  const context: CheckContext = {
    ...given,
    report(finding) {
      findings.push(finding)
      given.report(finding)
    },
  }
  const isAnswered = await checkAll(ref, text, context)
  const health: Health = !isAnswered
    ? 'unreachable'
    : findings.some(({ verdict }) => verdict === 'problem')
      ? 'problems'
      : 'healthy'
  return { health, findings }
}

/** Returns whether a server answered. Each check runs only if the one before allows it. */
async function checkAll(ref: string, text: string | undefined, context: CheckContext): Promise<boolean> {
  const { found, firstUrl, isAnswered, findings } = await findCard(ref, context)
  if (firstUrl !== undefined && !(await checkConnection(new URL(firstUrl), context))) return false
  for (const finding of findings) context.report(finding)
  if (!found) return isAnswered
  await checkOldCard(found.url, context)
  for (const { fault, advice } of adkFaults(found))
    context.report({ check: 'Google ADK', verdict: 'note', what: `rejects this card: ${fault}`, advice })
  const [first] = await checkInterfaces(found, context)
  if (!first) return isAnswered
  const { card } = found
  const { entry, context: known } = first
  if (!(await checkSecurity(card, entry, known))) return isAnswered
  await checkPush(card, entry, known)
  await checkSubscription(card, entry, known)
  if (text === undefined)
    context.report({
      check: 'sending',
      verdict: 'skipped',
      what: 'no message was sent, so answers and streams were not checked',
      advice: '--send sends a message',
    })
  else await checkSending(card, entry, known, text)
  return isAnswered
}

const noOldCard: Finding = {
  check: 'older cards',
  verdict: 'note',
  what: 'not found: clients of 0.2 and older cannot discover the agent',
}

/** Clients of 0.2 and older read the card from `agent.json`. */
async function checkOldCard(url: string, { timeoutMs, report }: CheckContext): Promise<void> {
  if (!url.endsWith('/agent-card.json')) return
  const oldUrl = url.replace(/agent-card\.json$/, 'agent.json')
  try {
    const response = await fetch(oldUrl, { redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
    if (response.status === 401) {
      report({ check: 'older cards', verdict: 'note', what: `${oldUrl} requires credentials` })
      return
    }
    const { version } = response.ok ? validateCard(await response.json()) : { version: 'unknown' }
    if (version === 'unknown') report(noOldCard)
    else report({ check: 'older cards', verdict: 'ok', what: `a ${version} card at ${oldUrl}` })
  } catch {
    report(noOldCard)
  }
}

/** Reasons for which the client of Google ADK rejects a card: it checks all interfaces, also those that it does not use. */
function adkFaults({ card, url }: FoundCard): readonly { readonly fault: string; readonly advice: string }[] {
  const { origin } = new URL(url)
  const addresses = card.supportedInterfaces.map((each) => each.url)
  const bare = addresses.find((address) => !/^https?:\/\//i.test(address) && !address.startsWith('/'))
  const foreign = addresses.find((address) => /^https?:\/\//i.test(address) && originOf(address) !== origin)
  return [
    ...(bare === undefined
      ? []
      : [
          {
            fault: `the interface ${bare} is not a URL`,
            advice: 'serve without gRPC for ADK clients: --no-grpc, or advanced: { grpc: false }',
          },
        ]),
    ...(foreign === undefined
      ? []
      : [
          {
            fault: `the interface ${foreign} has another origin than the card (${origin})`,
            advice: 'use the address on the card, or set --public-url (publicUrl) to the address that clients use',
          },
        ]),
  ]
}

function originOf(address: string): string | undefined {
  return canParseUrl(address) ? new URL(address).origin : undefined
}

type ConnectionContext = Pick<CheckContext, 'report' | 'timeoutMs'>

const minDaysLeft = 14

/** Checks name, port and certificate; returns whether a connection is possible. */
async function checkConnection(url: URL, context: ConnectionContext): Promise<boolean> {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  if (!(await canResolve(host, context))) return false
  if (!(await isOpen(host, port, context))) return false
  if (url.protocol === 'https:') return await isTrusted(host, port, context)
  if (!isLoopback(host))
    context.report({
      check: 'encryption',
      verdict: 'warning',
      what: 'messages and credentials travel unencrypted',
      advice: 'serve the agent over https',
    })
  return true
}

async function canResolve(host: string, { report }: ConnectionContext): Promise<boolean> {
  if (isIP(host)) return true
  try {
    const addresses = await lookup(host, { all: true })
    report({
      check: 'name',
      verdict: 'ok',
      what: `${host} resolves to ${addresses.map(({ address }) => address).join(', ')}`,
    })
    return true
  } catch {
    report({
      check: 'name',
      verdict: 'problem',
      what: `${host} cannot be resolved`,
      advice: 'check the spelling',
    })
    return false
  }
}

async function isOpen(host: string, port: number, { report, timeoutMs }: ConnectionContext): Promise<boolean> {
  const started = performance.now()
  const fault = await connectionFault(connectTcp({ host, port }), 'connect', timeoutMs)
  const ms = Math.round(performance.now() - started)
  if (fault === undefined) report({ check: 'connection', verdict: 'ok', what: `port ${port} is open (${ms} ms)` })
  else
    report({
      check: 'connection',
      verdict: 'problem',
      what: `port ${port} of ${host} cannot be reached: ${fault}`,
      advice: 'check that the agent is running and that no firewall blocks the port',
    })
  return fault === undefined
}

async function isTrusted(host: string, port: number, { report, timeoutMs }: ConnectionContext): Promise<boolean> {
  const socket: TLSSocket = connectTls({ host, port, ...(isIP(host) ? {} : { servername: host }) })
  let until = Number.NaN
  socket.once('secureConnect', () => {
    until = Date.parse(socket.getPeerCertificate().valid_to)
  })
  const fault = await connectionFault(socket, 'secureConnect', timeoutMs)
  if (fault !== undefined) {
    report({
      check: 'encryption',
      verdict: 'problem',
      what: `no trusted encrypted connection: ${fault}`,
      advice: 'use a certificate for this name that is not expired and signed by a trusted authority',
    })
    return false
  }
  const days = Math.floor((until - Date.now()) / 86_400_000)
  const isSoon = days < minDaysLeft
  const protocol = socket.getProtocol() ?? 'TLS'
  report({
    check: 'encryption',
    verdict: isSoon ? 'warning' : 'ok',
    what: Number.isNaN(days) ? protocol : `${protocol}, the certificate is valid for ${days} more days`,
    ...(isSoon && { advice: 'renew the certificate' }),
  })
  return true
}

/** Opens a connection and closes it; resolves to the fault, or to undefined. */
function connectionFault(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  timeoutMs: number,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const end = (fault?: string) => {
      clearTimeout(timer)
      resolve(fault)
      socket.destroy()
    }
    const timer = setTimeout(() => end(`no answer within ${timeoutMs / 1000} s`), timeoutMs)
    socket.once(event, () => end())
    socket.on('error', (error: NodeJS.ErrnoException) => end(faultTexts[error.code ?? ''] ?? error.message))
  })
}

const faultTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the host',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another name',
}

function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|::1)$/.test(host) || host.endsWith('.localhost')
}

/** Returns whether the agent accepts the given credentials. */
async function checkSecurity(card: AgentCard, entry: AgentInterface, context: CheckContext): Promise<boolean> {
  const bare = await requestTask(context, card, entry, anonymous)
  const hasCredentials = context.identity !== anonymous
  const known = hasCredentials ? await requestTask(context, card, entry, context.identity) : bare
  const isDeclared = isSecured(card)
  const isEnforced = isRefused(bare)
  const check = 'security'
  if (isDeclared && !isEnforced)
    context.report({
      check,
      verdict: 'problem',
      what: 'the card requires credentials, but a call without credentials is answered',
      advice: 'check credentials, or remove the requirement from the card',
    })
  else if (!isDeclared && isEnforced)
    context.report({
      check,
      verdict: 'problem',
      what: 'calls without credentials are rejected, but the card declares no requirement',
      advice: 'declare securitySchemes and securityRequirements in the card',
    })
  else
    context.report({
      check,
      verdict: 'ok',
      what: isDeclared
        ? 'required by the card, and calls without credentials are rejected'
        : 'no credentials required, as the card declares',
    })
  if (isEnforced) checkChallenge(bare, context)
  if (!isRefused(known)) return true
  context.report({
    check: 'credentials',
    verdict: hasCredentials ? 'problem' : 'skipped',
    what: hasCredentials
      ? `the given credentials are rejected: ${outcomeText(known.outcome)}`
      : 'none were given, so the remaining checks did not run',
    advice: 'pass them with --header, or store them with `dragoman auth login`',
  })
  return false
}

function checkChallenge({ wire }: Probe<unknown>, { report }: CheckContext): void {
  const answer = wire.findLast(({ direction }) => direction === 'response')
  if (answer?.binding === 'GRPC' || answer?.status !== 401 || answer.headers?.['www-authenticate'] !== undefined) return
  report({
    check: 'security',
    verdict: 'warning',
    what: 'a 401 response has no WWW-Authenticate header',
    advice: 'send the header with every 401 response',
  })
}

/** A card with an empty alternative requires nothing. */
function isSecured({ securityRequirements = [] }: AgentCard): boolean {
  return (
    securityRequirements.length > 0 &&
    securityRequirements.every(({ schemes }) => schemes !== undefined && Object.keys(schemes).length > 0)
  )
}

function isRefused({ outcome }: Probe<unknown>): boolean {
  return 'refusal' in outcome && (outcome.refusal === 'UNAUTHENTICATED' || outcome.refusal === 'PERMISSION_DENIED')
}

function requestTask(
  context: CheckContext,
  card: AgentCard,
  entry: AgentInterface,
  identity: Identity,
): Promise<Probe<unknown>> {
  return probe(context, { card, entry, identity }, (agent, signal) => agent.getTask({ id: randomUUID() }, { signal }))
}

/** Requests a webhook of an unknown task: agents without push notifications reject the call before they look for the task. */
async function checkPush(card: AgentCard, entry: AgentInterface, context: CheckContext): Promise<void> {
  const isDeclared = card.capabilities.pushNotifications === true
  const { outcome } = await probe(context, { card, entry, identity: context.identity }, (agent, signal) =>
    agent.getTaskPushNotificationConfig({ taskId: randomUUID(), id: randomUUID() }, { signal }),
  )
  const refusal: ErrorCode | undefined = 'refusal' in outcome ? outcome.refusal : undefined
  const isUnknown = refusal === 'UNSUPPORTED_OPERATION' || refusal === 'METHOD_NOT_FOUND'
  const expected = isDeclared ? 'TASK_NOT_FOUND' : 'PUSH_NOTIFICATION_NOT_SUPPORTED'
  const check = 'push'
  if (refusal === expected || (!isDeclared && isUnknown))
    context.report({
      check,
      verdict: 'ok',
      what: isDeclared ? 'declared, and works' : 'not declared, and rejected',
    })
  else
    context.report({
      check,
      verdict: isDeclared && (isUnknown || refusal === 'PUSH_NOTIFICATION_NOT_SUPPORTED') ? 'problem' : 'warning',
      what: `${isDeclared ? 'declared' : 'not declared'}, but a request for a webhook of an unknown task gets ${outcomeText(outcome)}`,
      advice: `answer ${expected}, or correct the card`,
    })
}
