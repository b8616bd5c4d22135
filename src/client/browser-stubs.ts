/**
 * Replacements for modules that need Node, for browser bundles (`imports` in `package.json`). `client-dialer.ts` uses them on
 * every platform without Node. A browser resolves names itself, so only the URL is checked.
 */
import { type AddressRules, createAddressGuard } from '../net/address-rules.js'

export function createGrpcClient(): never {
  throw new Error('gRPC is not supported in browsers')
}

export function createHandler(): never {
  throw new Error('Agents cannot run in browsers: connect to the address of a server')
}

export function createGuardedDialer(rules: AddressRules) {
  const { check, resolve } = createAddressGuard(rules)
  return {
    check,
    resolve,
    async fetch(url: string, init: RequestInit): Promise<Response> {
      await check(url)
      return globalThis.fetch(url, { ...init, redirect: 'manual' })
    },
    close: async (): Promise<void> => undefined,
  }
}
