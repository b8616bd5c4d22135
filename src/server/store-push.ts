/** Webhooks of a store whose agents are served elsewhere, or not now: for operators and their tools. */
import { dialectsByName } from '../dialects/servers.js'
import type { Log } from '../model/log.js'
import { assertOptions, type NamesOf } from '../model/option-names.js'
import { withoutTrailingSlashes } from '../model/trim-end.js'
import { createStorePush, type PushOptions, pushNames } from '../push/create-push.js'
import type { PushOperations } from '../push/dead-letters.js'
import { type Signer, type SigningOptions, toSigner } from '../signing/signer.js'
import { completeStore, storeKind } from '../stores/complete-store.js'
import type { Store } from '../stores/store.js'

/** Options of `openStorePush`. */
export interface StorePushOptions {
  /** Where webhooks may be, and how they are called: as `serve` has it. */
  readonly push?: PushOptions
  /** Deliveries are signed with these keys, as those of `publicUrl`. */
  readonly signing?: SigningOptions | Signer
  /** The address of the agent: who signs. */
  readonly publicUrl?: string
  readonly log?: Log
}

const optionNames = {
  push: pushNames,
  signing: true,
  publicUrl: true,
  log: true,
} satisfies NamesOf<StorePushOptions>

/** The webhook deliveries of a store, without a server. */
export interface StorePush extends PushOperations, AsyncDisposable {}

/**
 * The same as `served.push`, for all agents of a store. The store is not closed with it.
 *
 * ```ts
 * await using push = await openStorePush(store)
 * for (const { id } of await push.deadLetters()) await push.redeliver(id)
 * ```
 */
export async function openStorePush(store: Store, options: StorePushOptions = {}): Promise<StorePush> {
  assertOptions('openStorePush', { store }, { store: storeKind })
  assertOptions('openStorePush', options, optionNames)
  const { push, signing, publicUrl = '', log = () => undefined } = options
  if (signing && publicUrl === '') throw new TypeError('`signing` needs `publicUrl`: whose deliveries these are')
  const signer = signing && (await toSigner(signing))
  const { operations, close } = createStorePush(
    {
      store: completeStore(store),
      // All of them: a webhook outlives the dialect it was registered in.
      dialects: dialectsByName(),
      ...(signer && { signJwt: signer.signJwt }),
      addressOf: () => withoutTrailingSlashes(publicUrl),
      log,
    },
    push,
  )
  return { ...operations, [Symbol.asyncDispose]: close }
}
