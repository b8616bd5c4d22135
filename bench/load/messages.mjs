// The small messages the load is made of, and what a right answer to them looks like.

let sent = 0

/** The text differs each time, so that no answer can be mistaken for another. */
export function nextGreeting() {
  return `hello ${++sent}`
}

/** @param {import('./speaker.mjs').Told} told */
export function assertEchoed({ isCompleted, text, answer }, expected) {
  if (isCompleted && text === expected) return
  throw new Error(`Wanted a completed task repeating "${expected}", got ${JSON.stringify(answer)}`)
}
