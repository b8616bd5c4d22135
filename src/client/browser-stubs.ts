/**
 * The modules that need Node, as bundlers for browsers see them (`imports` in `package.json`), and as `createReach` uses them
 * where Node is missing. A browser resolves names itself and has a guard of its own, so that only the spelling of an
 * address is checked.
 */
import { type AddressRules, createAddressGuard } from '../net/address-rules.js'
import type { ClientDialer } from './client-dialer.js'

export function createHandler(): never {
  throw new Error('Agents cannot run in browsers: connect to the address of a server')
}

export function createGrpcClient(): never {
  throw new Error('gRPC is not supported in browsers')
}

export function createGuardedDialer(rules: AddressRules): ClientDialer & { check(url: string): Promise<void> } {
  const { check, resolve } = createAddressGuard(rules)
  return {
    check,
    resolve,
    async fetch(url, init) {
      await check(url)
      return globalThis.fetch(url, { ...init, redirect: 'manual' })
    },
    close: async () => undefined,
  }
}
