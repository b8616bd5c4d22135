/**
 * Finds the turn that a stray error belongs to: a rejection that nothing handles, or an exception in a callback. The turn
 * travels with the asynchronous context of its handler. Off unless a server asks for it, because the context costs a
 * little for every promise of the process.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Log } from '../model/log.js'

/**
 * Takes the stray errors of one task's handler. Timers and sockets that the handler made can outlive the run with their
 * asynchronous context, so `release` lets go of the run: later errors are logged only.
 */
export class TurnContext {
  readonly #log: Log
  readonly #facts: { readonly agent: string; readonly taskId: string }
  #fail: (() => void) | undefined

  /** `fail` ends the turn that runs. */
  constructor(log: Log, facts: { readonly agent: string; readonly taskId: string }, fail: () => void) {
    this.#log = log
    this.#facts = facts
    this.#fail = fail
  }

  strayError(error: unknown): void {
    this.#log({ level: 'error', message: 'Unhandled error in the handler', ...this.#facts, error })
    this.#fail?.()
  }

  release(): void {
    this.#fail = undefined
  }
}

const contexts = new AsyncLocalStorage<TurnContext>()
let users = 0

/** Attributes stray errors to turns until the returned function is called. */
export function attributeStrayErrors(): () => void {
  users += 1
  let isOn = true
  return () => {
    if (isOn) users -= 1
    isOn = false
  }
}

/** Runs work of a handler, and everything that it starts, in the context of its turn. */
export function inTurn<Result>(context: TurnContext, work: () => Result): Result {
  return users > 0 ? contexts.run(context, work) : work()
}

/** The turn in whose context the caller runs. */
export function currentTurn(): TurnContext | undefined {
  return users > 0 ? contexts.getStore() : undefined
}
