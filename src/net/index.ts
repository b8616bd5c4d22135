/** Requests to addresses that callers and cards name, guarded against private networks, and browser logins. */

// Read linked files and reach untrusted addresses

export { AddressRefused, type AddressRule, type AddressRules, type NameLookup } from './address-rules.js'
export { type FetchedFile, type FetchFileOptions, fetchFile } from './fetch-file.js'
export {
  createGuardedDialer,
  type DialerOptions,
  type DialerRequest,
  type GuardedDialer,
  type TlsOptions,
} from './node-dialer.js'

// Log in with a browser

export { type LoopbackReceiver, type LoopbackReceiverOptions, listenForRedirect } from './node-redirect-receiver.js'
