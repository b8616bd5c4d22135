/** What kind of problem an error is, whatever it says and in whatever language: what failed on the way, else its code. */
export function problemCode(error: unknown): string | undefined {
  const { code, details } = (error ?? {}) as {
    readonly code?: unknown
    readonly details?: { readonly metadata?: { readonly failure?: unknown } }
  }
  const kind = details?.metadata?.failure ?? code
  return typeof kind === 'string' ? kind : undefined
}
