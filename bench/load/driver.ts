/** A driver sends texts over one connection and summarises the answers, in any dialect and binding. */
import type { ConnectionOptions } from './connection.ts'
import { dialects } from './dialects.ts'
import { openHttpDriver } from './http-driver.ts'

export interface SendResult {
  readonly isCompleted: boolean
  readonly text: string | undefined
  /** The whole answer, for error messages. */
  readonly answer: unknown
}

export interface StreamEvent {
  readonly isTask: boolean | undefined
  readonly isCompleted: boolean
  readonly chunk: string | undefined
}

export interface StreamCount {
  readonly chunks: number
  readonly isCompleted: boolean
}

export interface Driver {
  /** Whether a stream begins with the task. */
  readonly isTaskFirst: boolean
  send(text: string): Promise<SendResult>
  /** Reads every event. */
  readStream(text: string): Promise<StreamEvent[]>
  /** Reads only as much as is necessary to check the stream. */
  countStream(text: string): Promise<StreamCount>
  close(): unknown
}

export type OpenDriver = (origin: string, options?: ConnectionOptions) => Driver

/** `name` is a key of `dialects`, or `v1-grpc`. */
export async function driverOf(name: string): Promise<OpenDriver> {
  // Loaded on use: it needs a build of Dragoman, and HTTP does not.
  if (name === 'v1-grpc') return (await import('./grpc-driver.ts')).openGrpcDriver
  const dialect = dialects[name]
  if (!dialect) throw new Error(`Unknown dialect: ${name}`)
  return (origin, options) => openHttpDriver(origin, dialect, options)
}
