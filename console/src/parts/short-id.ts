/** Enough of an id to tell it from others: ids that begin with the time differ at the end. */
export function shortId(id: string): string {
  return id.slice(-8)
}
