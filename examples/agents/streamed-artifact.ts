import { type ArtifactOptions, artifact, data, text } from 'dragoman'
import type { Struct } from 'dragoman/model'

/**
 * Streams a text as one artifact, piece by piece. The last piece also carries a data part with the whole text, for callers
 * that read the first data part of a task.
 */
export async function* streamedArtifact(
  name: string,
  pieces: AsyncIterable<string>,
  { toData, ...options }: ArtifactOptions & { toData: (whole: string) => Struct },
) {
  const written: string[] = []
  let held: string | undefined
  for await (const piece of pieces) {
    if (held !== undefined) yield artifact(name, held, { ...options, append: true })
    held = piece
    written.push(piece)
  }
  if (held === undefined) return
  const last = [text(held), data(toData(written.join('')))]
  yield artifact(name, last, { ...options, append: true, lastChunk: true })
}
