/**
 * W3C trace context: which trace a call belongs to, and which span caused it. Strangers write it, and it is passed
 * on: what is not of this form is dropped.
 */
const form = /^([\da-f]{2})-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?=-|$)/

export function readTraceparent(given: string | null | undefined): string | undefined {
  if (!given) return undefined
  const [known, version] = form.exec(given) ?? []
  // Later versions may add to it; what they add is theirs.
  if (known === undefined || version === 'ff' || (version === '00' && known !== given)) return undefined
  return known
}
