/** Translates errors into a message, a hint and an exit code. */
import { CommanderError } from 'commander'
import { TransportError } from '../client/index.js'
import { A2AError, type ErrorCode } from '../index.js'
import { RegistryError } from '../registry/index.js'

export const exitCodes = { ok: 0, error: 1, usage: 2, unreachable: 3, authentication: 4, timeout: 5 } as const

/** Invalid arguments or options; exit code 2. */
export class UsageError extends Error {}

export interface Failure {
  readonly exitCode: number
  /** A transport failure such as `unreachable`, or the protocol's error code in lower case. */
  readonly code: string
  readonly message: string
  readonly hint?: string
  /** The error code of the protocol. */
  readonly a2aCode?: ErrorCode
}

/** An error with a hint that fits better than the general one for its code. */
export class AdvisedError extends Error {
  readonly hint: string

  constructor(cause: unknown, hint: string) {
    super(hint, { cause })
    this.hint = hint
  }
}

export function failureOf(error: unknown): Failure {
  if (error instanceof AdvisedError) return { ...failureOf(error.cause), hint: error.hint }
  if (error instanceof CommanderError || error instanceof UsageError)
    return { exitCode: exitCodes.usage, code: 'usage', message: error.message.replace(/^error: /, '') }
  if (error instanceof TransportError) return transportFailure(error)
  if (error instanceof A2AError) return protocolFailure(error)
  if (error instanceof RegistryError) return registryFailure(error)
  const message = portInUse(error) ?? (error instanceof Error ? error.message : String(error))
  return { exitCode: exitCodes.error, code: 'error', message }
}

function portInUse(error: unknown): string | undefined {
  const { cause } = error instanceof Error ? error : {}
  for (const each of [error, cause])
    if (each instanceof Error && 'code' in each && each.code === 'EADDRINUSE' && 'port' in each)
      return `Port ${each.port} is in use; choose another one with --port`
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
  unreachable: 'Check that the agent is running and the address is correct',
  timeout: 'Allow more time with --timeout, or do not wait for the answer with --async',
  'bad-answer': 'The server at this address is not an A2A agent; --debug prints its answer',
  'broken-stream': 'The task may still be running; `dragoman task get` prints its state',
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
    message: isAuthentication ? `The registry answers: ${message}` : message,
    ...(code === 'UNAUTHENTICATED' && {
      hint: 'Pass credentials with --header, or with --registry-header in commands that call agents by name',
    }),
  }
}

const protocolHints: Readonly<Partial<Record<ErrorCode, string>>> = {
  UNAUTHENTICATED: 'Log in with `dragoman auth login`, or pass credentials with --header',
  PERMISSION_DENIED: 'The credentials are valid, but do not permit this call',
  TASK_NOT_FOUND: 'The task does not exist, or belongs to another caller',
  VERSION_NOT_SUPPORTED: 'Choose another version with --protocol, or leave the option out',
  UNSUPPORTED_OPERATION: '`dragoman card get` prints the capabilities of the agent',
  PUSH_NOTIFICATION_NOT_SUPPORTED: 'Follow the task with `dragoman task subscribe` instead',
  RATE_LIMITED: 'Try again later',
}
