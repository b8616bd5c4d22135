/**
 * Finds the turn that a stray error belongs to: a rejection that nothing handles, or an exception in a callback. The turn
 * travels with the asynchronous context of its handler. Off unless a server asks for it, because the context costs a
 * little for every promise of the process.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

/** A turn that takes the stray errors of its handler. */
export interface StrayErrorTarget {
  strayError(error: unknown): void
}

const context = new AsyncLocalStorage<StrayErrorTarget>()
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
export function inTurn<Result>(turn: StrayErrorTarget, work: () => Result): Result {
  return users > 0 ? context.run(turn, work) : work()
}

/** The turn in whose context the caller runs. */
export function currentTurn(): StrayErrorTarget | undefined {
  return users > 0 ? context.getStore() : undefined
}
