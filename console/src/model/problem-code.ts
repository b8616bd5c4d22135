/** Classifies an error: the transport failure, else the error code. */
export function problemCode(error: unknown): string | undefined {
  const { code, details } = (error ?? {}) as {
    readonly code?: unknown
    readonly details?: { readonly metadata?: { readonly failure?: unknown } }
  }
  const kind = details?.metadata?.failure ?? code
  return typeof kind === 'string' ? kind : undefined
}
