// The script: ask, answer a question, stream, cut the stream, resume it after the cut.
import { strictEqual } from 'node:assert/strict'
import { connect } from 'dragoman/client'

/** Talks to the counter over one binding. Rejects if an answer is wrong. */
export async function visit(address, binding) {
  const options = { binding, pin: true }
  const agent = await connect(address, options)
  const talk = agent.conversation()
  strictEqual((await talk.ask('buttons')).state, 'TASK_STATE_INPUT_REQUIRED')
  strictEqual((await talk.ask('seven')).text, 'seven it is')

  const contextId = crypto.randomUUID()
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'count' }], contextId }
  const cut = new AbortController()
  let text = ''
  let taskId
  let resumeAfter
  try {
    for await (const { event, seq } of agent.sendStreamingMessage({ message }, { signal: cut.signal })) {
      taskId ??= event.task?.id ?? event.artifactUpdate?.taskId ?? event.statusUpdate?.taskId
      resumeAfter = seq
      text += textOf(event)
      if (text === 'one two three ') cut.abort()
    }
  } catch (error) {
    if (!cut.signal.aborted) throw error
  }
  strictEqual(text, 'one two three ')
  await agent.close()

  const second = await connect(address, options)
  strictEqual((await second.ask('continue', { contextId })).text, 'continued')
  for await (const { event } of second.subscribeToTask({ id: taskId }, { resumeAfter })) text += textOf(event)
  strictEqual(text, 'one two three four five')
  strictEqual((await second.getTask({ id: taskId })).status.state, 'TASK_STATE_COMPLETED')
  await second.close()
}

function textOf({ artifactUpdate }) {
  return (artifactUpdate?.artifact.parts ?? []).map((part) => part.text ?? '').join('')
}
