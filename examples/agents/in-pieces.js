import { artifact } from 'dragoman'

/** @import { ArtifactOptions } from 'dragoman' */

/** An artifact that grows as it is written; its last piece says that it is the last.
 * @param {string} name
 * @param {AsyncIterable<string>} pieces
 * @param {ArtifactOptions} options
 */
export async function* inPieces(name, pieces, options) {
  /** @type {string | undefined} */
  let held
  for await (const piece of pieces) {
    if (held !== undefined) yield artifact(name, held, { ...options, append: true })
    held = piece
  }
  if (held !== undefined) yield artifact(name, held, { ...options, append: true, lastChunk: true })
}
