/** The end of an id: ids that begin with the time differ at the end. */
export function shortId(id: string): string {
  return id.slice(-8)
}
