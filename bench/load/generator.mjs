// The load generator: a process of its own, so that it never shares an event loop with a server or
// with the bookkeeping. It takes jobs over IPC, answers each with one result and stays until it
// is ended, because some jobs leave connections open on purpose.
import { callList } from './call-list.mjs'
import { followElsewhere, followSleeper, hearOfSleeper } from './follow-elsewhere.mjs'
import { countSubscribers, createTasks, openSubscribers } from './open-subscribers.mjs'
import { fillRegistry, lookUpAgents, searchAgents } from './registry.mjs'
import { runWorkflows } from './run-workflows.mjs'
import { sendMessages } from './send-messages.mjs'
import { streamChunks } from './stream-chunks.mjs'
import { clientSends, clientStreams } from './use-client.mjs'
import { receiveDeliveries, registerDeadWebhooks } from './webhooks.mjs'

const jobs = {
  callList,
  clientSends,
  clientStreams,
  countSubscribers,
  createTasks,
  fillRegistry,
  lookUpAgents,
  followElsewhere,
  followSleeper,
  hearOfSleeper,
  openSubscribers,
  receiveDeliveries,
  registerDeadWebhooks,
  runWorkflows,
  searchAgents,
  sendMessages,
  streamChunks,
}

process.on('message', ({ job, options }) => {
  jobs[job](options).then(
    (result) => process.send({ result }),
    (error) => process.send({ error: error.message, code: error.code }),
  )
})

// Without the run that started it there is nobody to measure for.
process.on('disconnect', () => process.exit())
