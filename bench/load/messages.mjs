// The calls the load is made of, and what a right answer to them looks like.

let sent = 0

/** A small message; its text differs each time, so that no answer can be mistaken for another. */
export function nextGreeting() {
  return userMessage(`hello ${++sent}`)
}

export function userMessage(text) {
  return { messageId: `m-${text}`, role: 'ROLE_USER', parts: [{ text }] }
}

export function assertEchoed(result, message) {
  const { task } = result
  const expected = message.parts[0].text
  const echoed = task?.artifacts?.[0]?.parts?.[0]?.text
  if (task?.status?.state === 'TASK_STATE_COMPLETED' && echoed === expected) return
  throw new Error(`Wanted a completed task repeating "${expected}", got ${JSON.stringify(result)}`)
}
