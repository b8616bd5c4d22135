/** Authentication of webhooks in 0.3 and older: a list of schemes, of which the server uses one. */
import type { AuthenticationInfo } from '../model/push-config.js'

/** As `authentication` is on the wire of 0.3, v0.1 and task-rest. */
export interface WireAuthentication {
  readonly schemes: readonly string[]
  readonly credentials?: string
}

/** Uses Bearer, else Basic, else the first scheme, and keeps the list. Absent for an empty list. */
export function toAuthentication({ schemes, credentials }: WireAuthentication): AuthenticationInfo | undefined {
  const named = (name: string) => schemes.find((scheme) => scheme.toLowerCase() === name)
  const scheme = named('bearer') ?? named('basic') ?? schemes[0]
  if (scheme === undefined) return undefined
  return { scheme, ...(schemes.length > 1 && { schemes }), ...(credentials !== undefined && { credentials }) }
}

export function encodeAuthentication({ scheme, schemes, credentials }: AuthenticationInfo): WireAuthentication {
  return { schemes: schemes ?? [scheme], ...(credentials !== undefined && { credentials }) }
}
