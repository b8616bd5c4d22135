/** Converts errors for logs: the facts that explain the failure, without secrets and attached objects. */

export interface ErrorFacts {
  readonly name?: string
  readonly message: string
  readonly code?: string
  readonly stack?: string
  readonly cause?: ErrorFacts
}

const maxCauses = 4

/** Copies known members only: errors of libraries carry requests, headers and whole configurations. */
export function errorFacts(error: unknown, causes = maxCauses): ErrorFacts {
  if (!(error instanceof Error)) return { message: withoutSecrets(String(error)) }
  const { name, message, stack, cause } = error
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  return {
    name,
    message: withoutSecrets(message),
    ...(code !== undefined && { code }),
    ...(stack !== undefined && { stack: withoutSecrets(stack) }),
    ...(cause !== undefined && causes > 0 && { cause: errorFacts(cause, causes - 1) }),
  }
}

const hidden = '[redacted]'

/** Removes passwords from addresses and keeps user names. */
export function withoutPasswords(text: string): string {
  return text.replace(/(:\/\/[^\s/:@]*):[^\s/]+@/g, `$1:${hidden}@`)
}

/** Removes passwords in addresses, credentials in headers, and keys in queries. */
export function withoutSecrets(text: string): string {
  return withoutPasswords(text)
    .replace(/\b(Bearer|Basic)\s+[\w~+/.=-]{6,}/gi, `$1 ${hidden}`)
    .replace(/([?&](?:[\w-]*(?:key|token|secret|passw(?:or)?d|signature))=)[^&\s"']+/gi, `$1${hidden}`)
}
