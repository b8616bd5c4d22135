/** Roughly what content takes on the wire, in characters: what can be large in a task is its content. */
import type { Part } from '../model/part.js'
import type { Task } from '../model/task.js'

export function sizeOfTask({ history = [], artifacts = [], status }: Task): number {
  let size = 500
  for (const { parts } of history) size += sizeOfParts(parts)
  for (const { parts } of artifacts) size += sizeOfParts(parts)
  return size + sizeOfParts(status.message?.parts ?? [])
}

export function sizeOfParts(parts: readonly Part[]): number {
  let size = 0
  for (const part of parts) {
    if ('text' in part) size += part.text.length
    else if ('raw' in part) size += part.raw.length
    else if ('data' in part) size += JSON.stringify(part.data).length
    size += 50
  }
  return size
}
