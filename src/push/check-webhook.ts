/**
 * Checks a webhook when it is registered. The answer depends on the spelling of the address alone: an answer that depended
 * on a look-up would tell callers which names exist on the server's network. The look-up goes to the log, and every
 * delivery makes its own.
 */
import { randomBytes } from 'node:crypto'
import type { Log } from '../model/log.js'
import { type AddressRules, createAddressGuard } from '../net/address-rules.js'
import type { GuardedDialer } from '../net/node-dialer.js'
import { readAtMost } from '../net/read-at-most.js'
import { createSparseLog } from './sparse-log.js'

export interface CheckOptions extends AddressRules {
  /** Ask the address for an echo of a token before it is registered (RL-01-9). */
  readonly challenge?: boolean
}

/** A caller waits meanwhile. */
const timeoutMs = 5_000

/** Answers are a token: whoever says more does not know what he was asked. */
const longestEchoBytes = 1024

export function createWebhookCheck(
  dialer: Pick<GuardedDialer, 'check' | 'fetch'>,
  { challenge = false, ...rules }: CheckOptions,
  log: Log,
): (url: string) => Promise<void> {
  const spelling = createAddressGuard(rules)
  const warn = createSparseLog(log)
  return async (url) => {
    await spelling.check(url)
    // Not awaited: the time that a look-up takes would tell as much as its result.
    dialer.check(url).catch((error: unknown) => {
      warn(new URL(url).hostname, { level: 'warn', message: 'A registered webhook cannot be called', error })
    })
    if (challenge && !(await askForEcho(dialer, url)))
      throw new Error('did not answer with the validationToken it was sent')
  }
}

async function askForEcho(dialer: Pick<GuardedDialer, 'fetch'>, url: string): Promise<boolean> {
  const token = randomBytes(24).toString('base64url')
  const asked = new URL(url)
  asked.searchParams.set('validationToken', token)
  try {
    const response = await dialer.fetch(asked, { signal: AbortSignal.timeout(timeoutMs) })
    const said = await readAtMost(response, longestEchoBytes)
    return response.ok && said !== undefined && new TextDecoder().decode(said).trim() === token
  } catch {
    return false
  }
}
