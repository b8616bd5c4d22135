import { artifact, data, text } from 'dragoman'

/** @import { ArtifactOptions, Struct } from 'dragoman' */

/**
 * Streams a text as one artifact, piece by piece. The last piece also carries a data part with the whole text, for callers
 * that read the first data part of a task.
 * @param {string} name
 * @param {AsyncIterable<string>} pieces
 * @param {ArtifactOptions & { toData: (whole: string) => Struct }} options
 */
export async function* inPieces(name, pieces, { toData, ...options }) {
  /** @type {string[]} */
  const written = []
  /** @type {string | undefined} */
  let held
  for await (const piece of pieces) {
    if (held !== undefined) yield artifact(name, held, { ...options, append: true })
    held = piece
    written.push(piece)
  }
  if (held === undefined) return
  const last = [text(held), data(toData(written.join('')))]
  yield artifact(name, last, { ...options, append: true, lastChunk: true })
}
