// One connection on which one dialect is spoken over HTTP.
import { openConnection } from './connection.mjs'
import { createStreamCounter } from './stream-counter.mjs'

/**
 * @param {string} origin
 * @param {import('./dialects.mjs').Dialect} dialect
 * @param {Parameters<typeof openConnection>[1]} options
 * @returns {import('./speaker.mjs').Speaker}
 */
export function openHttpSpeaker(origin, dialect, options) {
  const connection = openConnection(origin, options)
  const { completed, isTaskFirst = false } = dialect
  return {
    isTaskFirst,
    async send(text) {
      const answer = await connection.call(dialect.send(text))
      const read = dialect.readAnswer(answer)
      return { isCompleted: read.state === completed, text: read.text, answer }
    },
    async readStream(text) {
      const pieces = []
      await connection.stream(dialect.stream(text), (piece) => pieces.push(piece))
      return eventsIn(Buffer.concat(pieces).toString(), dialect).map((event) => {
        const { isTask, state, chunk } = dialect.readEvent(event)
        return { isTask, isCompleted: state === completed, chunk }
      })
    },
    async countStream(text) {
      const counter = createStreamCounter(dialect)
      await connection.stream(dialect.stream(text), counter.add)
      return counter.counted()
    },
    close: connection.close,
  }
}

function eventsIn(text, { farewell }) {
  const data = text
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trim())
  if (farewell !== undefined && data.pop() !== farewell) {
    throw new Error(`Wanted ${farewell} at the end, got ${text.slice(-500)}`)
  }
  return data.map((each) => JSON.parse(each))
}
