// The agent that the clients of other frameworks call.
import { agent, artifact, ask, working } from 'dragoman'

export const tailor = agent('Tailor', async function* ({ text, message, number, signal }) {
  const file = message.parts.find((part) => 'raw' in part)
  if (file) {
    yield `${file.raw.length > 0 ? atob(file.raw) : ''} in ${file.mediaType}`
  } else if (number > 1) {
    yield `A ${text} suit`
  } else if (text === 'suit') {
    yield ask('Which size?')
  } else if (text === 'count') {
    for (const word of ['one ', 'two ', 'three']) yield word
  } else if (text === 'pattern') {
    yield artifact('pattern.txt', { raw: btoa('cut here'), mediaType: 'text/plain', filename: 'pattern.txt' })
  } else if (text === 'sew') {
    yield working('Sewing')
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  } else {
    yield text.toUpperCase()
  }
})
