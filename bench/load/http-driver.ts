/** One connection for one dialect over HTTP. */
import { type ConnectionOptions, openConnection } from './connection.ts'
import type { Dialect } from './dialects.ts'
import type { Driver } from './driver.ts'
import { createStreamCounter } from './stream-counter.ts'

export function openHttpDriver(origin: string, dialect: Dialect, options: ConnectionOptions = {}): Driver {
  const connection = openConnection(origin, options)
  const { completed, isTaskFirst = false } = dialect
  return {
    isTaskFirst,
    async send(text) {
      const answer = await connection.call<object>(dialect.send(text))
      const task = dialect.readAnswer(answer)
      return { isCompleted: task.state === completed, text: task.text, answer }
    },
    async readStream(text) {
      const pieces: Buffer[] = []
      await connection.stream(dialect.stream(text), (piece) => pieces.push(piece))
      return eventsIn(Buffer.concat(pieces).toString(), dialect).map((event) => {
        const { isTask, state, chunk } = dialect.readEvent(event)
        return { isTask, isCompleted: state === completed, chunk }
      })
    },
    async countStream(text) {
      const counter = createStreamCounter(dialect)
      await connection.stream(dialect.stream(text), counter.add)
      return counter.count()
    },
    close: connection.close,
  }
}

function eventsIn(text: string, { endMarker }: Dialect): object[] {
  const data = text
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trim())
  if (endMarker !== undefined && data.pop() !== endMarker) {
    throw new Error(`Expected ${endMarker} at the end, got ${text.slice(-500)}`)
  }
  return data.map((each): object => JSON.parse(each))
}
