/**
 * What HTTP clients send through. The assembly decides what stands behind it: `fetch`, with credentials,
 * limits, a log of the wire. It throws `TransportError` when no answer comes.
 */
export interface HttpRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly signal?: AbortSignal
  /** The answer is a stream: it may take as long as it likes, and be as long as it likes. */
  readonly isStream?: boolean
}

export type HttpSender = (request: HttpRequest) => Promise<Response>
