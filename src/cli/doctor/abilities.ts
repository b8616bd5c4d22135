/** What a card promises beside its interfaces: security and push. Nothing here changes anything there. */
import { randomUUID } from 'node:crypto'
import type { AgentCard, AgentInterface, ErrorCode } from '../../client/index.js'
import { type Identity, type Means, nobody, outcomeText, type Tried, tryCall } from './patient.js'

/** Whether calls are answered with the credentials that were given. */
export async function examineSecurity(card: AgentCard, entry: AgentInterface, means: Means): Promise<boolean> {
  const bare = await probe(means, card, entry, nobody)
  const hasCredentials = means.identity !== nobody
  const known = hasCredentials ? await probe(means, card, entry, means.identity) : bare
  const isDeclared = isSecured(card)
  const isEnforced = isRefused(bare)
  const check = 'security'
  if (isDeclared && !isEnforced)
    means.report({
      check,
      verdict: 'problem',
      what: 'the card declares that callers must authenticate, and a call without credentials is answered',
      advice: 'check credentials, or take the requirement out of the card',
    })
  else if (!isDeclared && isEnforced)
    means.report({
      check,
      verdict: 'problem',
      what: 'calls without credentials are refused, and the card does not say which are needed',
      advice: 'declare securitySchemes and securityRequirements in the card',
    })
  else
    means.report({
      check,
      verdict: 'ok',
      what: isDeclared
        ? 'credentials are declared, and calls without them refused'
        : 'open to everybody, as the card says',
    })
  if (isEnforced) examineChallenge(bare, means)
  if (!isRefused(known)) return true
  means.report({
    check: 'credentials',
    verdict: hasCredentials ? 'problem' : 'skipped',
    what: hasCredentials
      ? `the credentials that were given are refused: ${outcomeText(known.outcome)}`
      : 'none were given: what stands behind them was not looked at',
    advice: 'give them with --header, or keep them with `dragoman auth login`',
  })
  return false
}

function examineChallenge({ wire }: Tried<unknown>, { report }: Means): void {
  const answer = wire.findLast(({ direction }) => direction === 'response')
  if (answer?.binding === 'GRPC' || answer?.status !== 401 || answer.headers?.['www-authenticate'] !== undefined) return
  report({
    check: 'security',
    verdict: 'warning',
    what: 'a refusal (401) does not say in WWW-Authenticate what is wanted',
    advice: 'send the header with every 401',
  })
}

/** Where one of the alternatives is empty, nothing is required. */
function isSecured({ securityRequirements = [] }: AgentCard): boolean {
  return (
    securityRequirements.length > 0 &&
    securityRequirements.every(({ schemes }) => schemes !== undefined && Object.keys(schemes).length > 0)
  )
}

function isRefused({ outcome }: Tried<unknown>): boolean {
  return 'refusal' in outcome && (outcome.refusal === 'UNAUTHENTICATED' || outcome.refusal === 'PERMISSION_DENIED')
}

function probe(means: Means, card: AgentCard, entry: AgentInterface, identity: Identity): Promise<Tried<unknown>> {
  return tryCall(means, { card, entry, identity }, (agent, signal) => agent.getTask({ id: randomUUID() }, { signal }))
}

/** A webhook of a task that does not exist is asked for: what is not supported is refused before that is noticed. */
export async function examinePush(card: AgentCard, entry: AgentInterface, means: Means): Promise<void> {
  const isDeclared = card.capabilities.pushNotifications === true
  const { outcome } = await tryCall(means, { card, entry, identity: means.identity }, (agent, signal) =>
    agent.getTaskPushNotificationConfig({ taskId: randomUUID(), id: randomUUID() }, { signal }),
  )
  const refusal: ErrorCode | undefined = 'refusal' in outcome ? outcome.refusal : undefined
  const isUnknown = refusal === 'UNSUPPORTED_OPERATION' || refusal === 'METHOD_NOT_FOUND'
  const expected = isDeclared ? 'TASK_NOT_FOUND' : 'PUSH_NOTIFICATION_NOT_SUPPORTED'
  const check = 'push'
  if (refusal === expected || (!isDeclared && isUnknown))
    means.report({
      check,
      verdict: 'ok',
      what: isDeclared ? 'declared, and there' : 'not declared, and refused',
    })
  else
    means.report({
      check,
      verdict: isDeclared && (isUnknown || refusal === 'PUSH_NOTIFICATION_NOT_SUPPORTED') ? 'problem' : 'warning',
      what: `${isDeclared ? 'declared' : 'not declared'}, but the webhook of an unknown task is answered with ${outcomeText(outcome)}`,
      advice: `answer ${expected}, or correct the card`,
    })
}
