/** Names a test after the requirements it proves: `it(proves('R-SEND-3', 'refuses …'), …)`. */
export function proves(ids: string | readonly string[], name: string): string {
  return `${typeof ids === 'string' ? ids : ids.join(', ')}: ${name}`
}
