/** `Idempotency-Key`: a send happens once, even across a crash (E-10). */
import { A2AError } from '../../model/errors.js'
import type { CallContext, SendMessageRequest } from '../../model/service.js'
import type { IdempotencyKey, KeyedSend, Scope } from '../../stores/store.js'
import type { Internals } from '../internals.js'
import { longestId } from '../limits.js'

export async function idempotencyOf(
  internals: Internals,
  request: SendMessageRequest,
  context: CallContext,
  prefix = '',
): Promise<IdempotencyKey | undefined> {
  const key = keyOf(internals, request, context)
  if (key === undefined) return undefined
  if ((context.idempotencyKey?.length ?? 0) > longestId)
    throw new A2AError('INVALID_REQUEST', `Idempotency-Key is longer than ${longestId} characters`)
  return { key: `${prefix}${key}`, digest: await digestOf(request, context), ttlMs: internals.settings.idempotencyMs }
}

/** The earlier send with the same key; throws when it had another body. */
export async function findKeyedSend(
  internals: Internals,
  scope: Scope,
  idempotency: IdempotencyKey | undefined,
): Promise<KeyedSend | undefined> {
  if (!idempotency) return undefined
  const earlier = await internals.store.findKey(scope, idempotency.key)
  if (earlier && earlier.digest !== idempotency.digest) {
    throw new A2AError('INVALID_REQUEST', 'Idempotency-Key was used before with another request')
  }
  return earlier
}

function keyOf({ settings }: Internals, { message }: SendMessageRequest, context: CallContext): string | undefined {
  if (context.idempotencyKey) return `key:${context.idempotencyKey}`
  return settings.dedupeByMessageId ? `message:${message.messageId}` : undefined
}

/**
 * Digests the message without its id, the task id, the URL of the webhook and the metadata. Equal requests have equal
 * digests in every dialect, so that a client can repeat a send over another interface. The message id is left out: some
 * dialects have none, and many clients make a new one for a retry. The rest of the configuration is left out, because
 * dialects have different defaults.
 */
async function digestOf(
  { message, configuration, metadata }: SendMessageRequest,
  { wantedTaskId, continuesContext }: CallContext,
): Promise<string> {
  const { messageId: _id, taskId, ...said } = message
  // A question that is open the first time is answered the second: which task was meant is not the caller's word.
  const task = wantedTaskId ?? (continuesContext ? undefined : taskId)
  const webhook = configuration?.taskPushNotificationConfig?.url
  const bytes = new TextEncoder().encode(JSON.stringify([said, task, webhook, metadata], sortMembers))
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('base64url')
}

function sortMembers(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
