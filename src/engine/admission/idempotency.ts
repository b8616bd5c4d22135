/** Idempotency keys: a send with a key happens once, even across a crash (E-10). */
import { A2AError } from '../../model/errors.js'
import type { CallContext, SendMessageRequest } from '../../model/service.js'
import type { CompleteStore, IdempotencyKey, KeyedSend, Scope } from '../../stores/store.js'
import { maxIdLength } from '../limits.js'
import type { EngineSettings } from '../settings.js'

interface IdempotencyDeps {
  readonly store: Pick<CompleteStore, 'findKey'>
  readonly settings: Pick<EngineSettings, 'idempotencyMs' | 'dedupeByMessageId'>
}

export class Idempotency {
  readonly #deps: IdempotencyDeps

  constructor(deps: IdempotencyDeps) {
    this.#deps = deps
  }

  /** Whether a send has a key. */
  appliesTo({ idempotencyKey }: CallContext): boolean {
    return idempotencyKey !== undefined || this.#deps.settings.dedupeByMessageId
  }

  /** The key of a send with a digest of its request; undefined when it has none. */
  async keyOf(request: SendMessageRequest, context: CallContext, prefix = ''): Promise<IdempotencyKey | undefined> {
    const { idempotencyMs, dedupeByMessageId } = this.#deps.settings
    const { idempotencyKey } = context
    if (!idempotencyKey && !dedupeByMessageId) return undefined
    if ((idempotencyKey?.length ?? 0) > maxIdLength)
      throw new A2AError('INVALID_REQUEST', `Idempotency-Key is longer than ${maxIdLength} characters`)
    const key = idempotencyKey ? `key:${idempotencyKey}` : `message:${request.message.messageId}`
    return { key: `${prefix}${key}`, digest: await digestOf(request, context), ttlMs: idempotencyMs }
  }

  /** The earlier send with the same key. Throws when it had another body. */
  async find(scope: Scope, idempotency: IdempotencyKey | undefined): Promise<KeyedSend | undefined> {
    if (!idempotency) return undefined
    const earlier = await this.#deps.store.findKey(scope, idempotency.key)
    if (earlier && earlier.digest !== idempotency.digest)
      throw new A2AError('INVALID_REQUEST', 'Idempotency-Key was used before with another request')
    return earlier
  }
}

/**
 * Digests the message without its id, the task id, the URL of the webhook and the metadata. Equal requests have equal
 * digests in every dialect, so that a client can repeat a send over another interface. The message id is left out: some
 * dialects have none, and many clients create a new one for a retry. The rest of the configuration is left out, because
 * dialects have different defaults.
 */
async function digestOf(
  { message, configuration, metadata }: SendMessageRequest,
  { wantedTaskId, continuesContext }: CallContext,
): Promise<string> {
  const { messageId: _id, taskId, ...content } = message
  // With `continuesContext` the server chose the task: it differs once the first send has answered the open question.
  const task = wantedTaskId ?? (continuesContext ? undefined : taskId)
  const webhook = configuration?.taskPushNotificationConfig?.url
  const bytes = new TextEncoder().encode(JSON.stringify([content, task, webhook, metadata], sortMembers))
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('base64url')
}

function sortMembers(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
