/** Shared checks that recognise the dialect of a card or a webhook body. */

export type Json = Readonly<Record<string, unknown>>

export function hasAny(value: Json, ...names: string[]): boolean {
  return names.some((name) => Object.hasOwn(value, name) && value[name] !== undefined && value[name] !== null)
}

/** Whether the card has v1.0's list of interfaces. An empty list beside an address does not count. */
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
