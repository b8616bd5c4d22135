/** The small messages of the load, and the check of their answers. */
import type { SendResult } from './driver.ts'

let count = 0

/** Each text is different, so that an answer to another message is detected. */
export function nextGreeting(): string {
  return `hello ${++count}`
}

export function assertEchoed({ isCompleted, text, answer }: SendResult, expected: string): void {
  if (isCompleted && text === expected) return
  throw new Error(`Expected a completed task with the text "${expected}", got ${JSON.stringify(answer)}`)
}
