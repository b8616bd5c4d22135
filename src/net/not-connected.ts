/** No connection came about, so nothing was sent. What went wrong is the cause; `code` is the one it has. */
export class NotConnected extends Error {
  readonly code: string | undefined

  constructor(cause: Error & { readonly code?: unknown }) {
    super(cause.message, { cause })
    this.name = 'NotConnected'
    this.code = typeof cause.code === 'string' ? cause.code : undefined
  }
}
