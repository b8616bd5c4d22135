/** Idempotency keys: a send with a key happens once, even across a crash (E-10). */
import { A2AError } from '../../model/errors.js'
import type { CallContext, SendMessageRequest } from '../../model/service.js'
import type { CompleteStore, IdempotencyKey, KeyedSend, Scope } from '../../stores/store.js'
import { isOwn, type SharingOperation, sharedTaskOf, type TaskAccess } from '../access.js'
import { maxIdLength } from '../limits.js'
import type { EngineSettings } from '../settings.js'

interface IdempotencyDeps {
  readonly agent: string
  readonly store: Pick<CompleteStore, 'find' | 'findKey'>
  readonly access: TaskAccess
  readonly settings: Pick<EngineSettings, 'idempotencyMs' | 'dedupeByMessageId'>
}

/** A key in the scope that the store keeps it in. */
interface ScopedKey {
  readonly scope: Scope
  readonly key: IdempotencyKey
}

export class Idempotency {
  readonly #deps: IdempotencyDeps

  constructor(deps: IdempotencyDeps) {
    this.#deps = deps
  }

  /** Whether a send has a key. */
  appliesTo({ idempotencyKey }: CallContext): boolean {
    return Boolean(idempotencyKey) || this.#deps.settings.dedupeByMessageId
  }

  /** The key of a send with a digest of its request. */
  async keyOf(request: SendMessageRequest, context: CallContext, operation: SharingOperation): Promise<ScopedKey> {
    const { idempotencyKey } = context
    if ((idempotencyKey?.length ?? 0) > maxIdLength)
      throw new A2AError('INVALID_REQUEST', `Idempotency-Key is longer than ${maxIdLength} characters`)
    const given = idempotencyKey ? `key:${idempotencyKey}` : `message:${request.message.messageId}`
    const { scope, prefix = '' } = await this.#scopeOf(request, context, operation)
    const digest = await digestOf(request, context)
    return { scope, key: { key: `${prefix}${given}`, digest, ttlMs: this.#deps.settings.idempotencyMs } }
  }

  /**
   * Keys belong to the caller. A key for a message to another owner's task is stored in that owner's scope, with the caller
   * as prefix.
   */
  async #scopeOf(
    { message }: SendMessageRequest,
    context: CallContext,
    operation: SharingOperation,
  ): Promise<{ readonly scope: Scope; readonly prefix?: string }> {
    const { access, agent, store } = this.#deps
    const scope = { agent, tenant: context.tenant ?? '', owner: context.caller.id }
    const id = message.taskId ?? context.wantedTaskId
    if (!access.hasPolicy || id === undefined) return { scope }
    const record = await store.find({ agent, id })
    if (!record || isOwn(record, context)) return { scope }
    if (!(await access.allows(sharedTaskOf(record), context, operation))) return { scope }
    return { scope: { ...scope, owner: record.owner }, prefix: `by:${JSON.stringify(context.caller.id)}:` }
  }

  /** The earlier send with the same key. Throws when it had another body. */
  async find({ scope, key: { key, digest } }: ScopedKey): Promise<KeyedSend | undefined> {
    const earlier = await this.#deps.store.findKey(scope, key)
    if (earlier && earlier.digest !== digest)
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
