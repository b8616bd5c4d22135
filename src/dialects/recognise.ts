/** Shared checks of the recognisers: which dialect a card or a webhook body is written in. */

export type Json = Readonly<Record<string, unknown>>

export function hasAny(value: Json, ...names: string[]): boolean {
  return names.some((name) => Object.hasOwn(value, name) && value[name] !== undefined && value[name] !== null)
}

/** The list of interfaces that v1.0 introduced. An empty list beside an address offers nothing, so the address counts. */
export function listsInterfaces(card: Json): boolean {
  const interfaces = card.supportedInterfaces ?? card.supported_interfaces
  const isEmpty = Array.isArray(interfaces) && interfaces.length === 0 && typeof card.url === 'string'
  return interfaces !== undefined && interfaces !== null && !isEmpty
}

/** The version that a card with one address states; empty if it states none. */
export function statedVersion({ protocolVersion }: Json): string {
  return typeof protocolVersion === 'string' ? protocolVersion.trim() : ''
}

export function isVersion(stated: string, majorMinor: string): boolean {
  return stated === majorMinor || stated.startsWith(`${majorMinor}.`)
}
