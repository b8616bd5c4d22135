/** Asks, when a webhook is registered, whether it may be called and whether it wants to be. */
import { randomBytes } from 'node:crypto'
import { AddressRefused } from '../net/address-rules.js'
import type { GuardedDialer } from '../net/node-dialer.js'
import { readAtMost } from '../net/read-at-most.js'

export interface CheckOptions {
  /** Ask the address for an echo of a token before it is registered (RL-01-9). */
  readonly challenge?: boolean
}

/** A caller waits meanwhile. */
const timeoutMs = 5_000
const lookupTimeoutMs = 2_000

/** Answers are a token: whoever says more does not know what he was asked. */
const longestEchoBytes = 1024

export function createWebhookCheck(
  dialer: Pick<GuardedDialer, 'check' | 'fetch'>,
  { challenge = false }: CheckOptions,
): (url: string) => Promise<void> {
  return async (url) => {
    const signal = AbortSignal.timeout(lookupTimeoutMs)
    try {
      await dialer.check(url, { signal })
    } catch (error) {
      // A name service may be down for a moment. Every delivery asks it again, and calls nobody it does not know.
      const isUnknown = signal.aborted || (error instanceof AddressRefused && error.rule === 'name')
      if (!isUnknown) throw error
    }
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
