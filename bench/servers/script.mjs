// What the echo agent does with a text. The competitors share this reading, so that every server
// is asked for the same work.

/**
 * @typedef {{ kind: 'echo', text: string }
 *   | { kind: 'chunks', count: number }
 *   | { kind: 'sleep', ms: number }} Script
 */

/**
 * @param {string} text
 * @returns {Script}
 */
export function readScript(text) {
  const [word, number] = text.split(' ')
  if (word === 'chunks') return { kind: 'chunks', count: Number(number) }
  if (word === 'sleep') return { kind: 'sleep', ms: Number(number) }
  return { kind: 'echo', text }
}
