// The agent of the script that runs on every runtime.
import { agent, ask } from 'dragoman'

/** Contexts in which a count waits, and the functions that let it continue. */
const waiting = new Map()

export const counter = agent('Counter', async function* ({ text, contextId, number }) {
  if (text === 'continue') {
    waiting.get(contextId)?.()
    yield 'continued'
  } else if (text === 'count') {
    const mayContinue = new Promise((resolve) => waiting.set(contextId, resolve))
    for (const word of ['one ', 'two ', 'three ']) yield word
    // The caller cuts the stream here, so that the rest is written while no connection is open.
    await mayContinue
    for (const word of ['four ', 'five']) yield word
  } else if (number === 1) {
    yield ask('How many?')
  } else {
    yield `${text} it is`
  }
})
