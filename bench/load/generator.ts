/**
 * The load generator: a separate process, so that it shares no event loop with a server or with the reports. It takes
 * jobs over IPC and answers each one with a result. Some jobs leave connections open, so it runs until it is killed.
 */
import { callList } from './call-list.ts'
import { followOnReplica, followSleepingTask, waitForTakeover } from './follow-replica.ts'
import { countSubscribers, createTasks, openSubscribers } from './open-subscribers.ts'
import { fillRegistry, lookUpAgents, searchAgents } from './registry.ts'
import { runWorkflows } from './run-workflows.ts'
import { sendMessages } from './send-messages.ts'
import type { JobMessage, JobReply } from './start-load.ts'
import { streamChunks } from './stream-chunks.ts'
import { clientSends, clientStreams } from './use-client.ts'
import { receiveDeliveries, registerDeadWebhooks } from './webhooks.ts'
import { measureServer } from './workers.ts'

const jobs = {
  callList,
  clientSends,
  clientStreams,
  countSubscribers,
  createTasks,
  fillRegistry,
  followOnReplica,
  followSleepingTask,
  lookUpAgents,
  openSubscribers,
  receiveDeliveries,
  registerDeadWebhooks,
  runWorkflows,
  searchAgents,
  sendMessages,
  streamChunks,
  waitForTakeover,
}

export type Jobs = typeof jobs

const reply = (message: JobReply) => process.send?.(message)

process.on('message', ({ job, options, serverPid }: JobMessage) => {
  measureServer(serverPid)
  // `startLoad` pairs each job with its options.
  const run = jobs[job] as (options: object) => Promise<object>
  run(options).then(
    (result) => reply({ result }),
    (error) => reply({ error: error.message, code: error.code }),
  )
})

// Ends with the process that started it.
process.on('disconnect', () => process.exit())
