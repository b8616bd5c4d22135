import { connect } from 'dragoman/client'

/** Calls the agent Shout of an example twice, the second time as a stream, and returns the texts. */
export async function shouted(url: string): Promise<readonly string[]> {
  await using agent = await connect(url)
  let streamed = ''
  const { text } = await agent.ask('hello')
  for await (const update of agent.stream('hello')) {
    const parts = 'artifactUpdate' in update ? update.artifactUpdate.artifact.parts : []
    for (const part of parts) if ('text' in part) streamed += part.text
  }
  return [text, streamed]
}
