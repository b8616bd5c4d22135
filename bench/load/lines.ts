/** The lines of a response body, in the batches in which they arrive. */
export async function* lineBatches(response: Response): AsyncGenerator<readonly string[]> {
  if (!response.body) return
  let rest = ''
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    yield lines
  }
}
