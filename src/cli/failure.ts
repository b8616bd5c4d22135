/** What went wrong, for people and for programs: one sentence, a hint, an exit code. */
import { CommanderError } from 'commander'
import { TransportError } from '../client/index.js'
import { A2AError, type ErrorCode } from '../index.js'
import { RegistryError } from '../registry/index.js'
import { UsageError } from './usage-error.js'

export const exitCodes = { ok: 0, error: 1, usage: 2, unreachable: 3, authentication: 4, timeout: 5 } as const

export interface Failure {
  readonly exitCode: number
  /** Ours: `unreachable`, `timeout`, or the protocol's reason in lower case. */
  readonly code: string
  readonly message: string
  readonly hint?: string
  /** The protocol's own name of the error. */
  readonly a2aCode?: ErrorCode
}

/** A failure with better advice than its kind gets by itself. */
export class Advised extends Error {
  readonly hint: string

  constructor(cause: unknown, hint: string) {
    super(hint, { cause })
    this.hint = hint
  }
}

export function failureOf(error: unknown): Failure {
  if (error instanceof Advised) return { ...failureOf(error.cause), hint: error.hint }
  if (error instanceof CommanderError || error instanceof UsageError)
    return { exitCode: exitCodes.usage, code: 'usage', message: error.message.replace(/^error: /, '') }
  if (error instanceof TransportError) return transportFailure(error)
  if (error instanceof A2AError) return protocolFailure(error)
  if (error instanceof RegistryError) return registryFailure(error)
  const message = portTaken(error) ?? (error instanceof Error ? error.message : String(error))
  return { exitCode: exitCodes.error, code: 'error', message }
}

/** The same words, whether the library or Node says so. */
function portTaken(error: unknown): string | undefined {
  const { cause } = error instanceof Error ? error : {}
  for (const each of [error, cause])
    if (each instanceof Error && 'code' in each && each.code === 'EADDRINUSE' && 'port' in each)
      return `Port ${each.port} is in use: choose another one with --port`
  return undefined
}

const transportExits: Readonly<Record<TransportError['failure'], number>> = {
  unreachable: exitCodes.unreachable,
  'circuit-open': exitCodes.unreachable,
  'broken-stream': exitCodes.unreachable,
  timeout: exitCodes.timeout,
  'bad-answer': exitCodes.error,
  refused: exitCodes.error,
  aborted: exitCodes.error,
}

function transportFailure({ failure, message }: TransportError): Failure {
  const hint = transportHints[failure]
  return { exitCode: transportExits[failure], code: failure, message, ...(hint && { hint }) }
}

const transportHints: Readonly<Partial<Record<TransportError['failure'], string>>> = {
  unreachable: 'Is the agent running, and is the address right?',
  timeout: 'Give it more time with --timeout, or do not wait for the end with --async',
  'bad-answer': 'Something else answers at this address; --debug shows what',
  'broken-stream': 'The task may be running still: dragoman task get tells',
}

function protocolFailure({ code, message }: A2AError): Failure {
  const isAuthentication = code === 'UNAUTHENTICATED' || code === 'PERMISSION_DENIED'
  const hint = protocolHints[code]
  return {
    exitCode: isAuthentication ? exitCodes.authentication : exitCodes.error,
    code: code.toLowerCase().replaceAll('_', '-'),
    message,
    a2aCode: code,
    ...(hint && { hint }),
  }
}

function registryFailure({ code, message }: RegistryError): Failure {
  const isAuthentication = code === 'UNAUTHENTICATED' || code === 'FORBIDDEN'
  return {
    exitCode: isAuthentication ? exitCodes.authentication : exitCodes.error,
    code: code.toLowerCase().replaceAll('_', '-'),
    message: isAuthentication ? `The registry says: ${message}` : message,
    ...(code === 'UNAUTHENTICATED' && {
      hint: 'Show it credentials with --header, or with --registry-header where names of agents are looked up',
    }),
  }
}

const protocolHints: Readonly<Partial<Record<ErrorCode, string>>> = {
  UNAUTHENTICATED: 'Log in with `dragoman auth login`, or send a header with --header',
  PERMISSION_DENIED: 'These credentials are known, but not allowed to do this',
  TASK_NOT_FOUND: 'It does not exist, or belongs to somebody else',
  VERSION_NOT_SUPPORTED: 'Choose another version with --protocol, or let it be negotiated',
  UNSUPPORTED_OPERATION: 'The card says what the agent can do: `dragoman card get`',
  PUSH_NOTIFICATION_NOT_SUPPORTED: 'Follow the task instead: `dragoman task subscribe`',
  RATE_LIMITED: 'Try again later',
}
