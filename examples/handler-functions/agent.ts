// An agent that writes reports, made of all eight functions of the struct instead of a generator.
import { A2AError, serve } from 'dragoman'
import { handlerFunctions, type TaskContext } from './handler-functions.ts'

const counts = { reads: 0, joins: 0 }

function report(topic: string) {
  return { artifactId: 'report', name: 'report', parts: [{ text: `Report on ${topic}` }] }
}

/** Waits until the task is canceled, then fails. */
async function waitForCancel({ signal }: TaskContext) {
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
  throw new Error('Canceled')
}

export async function start({ port = 0, allowWebhooks = [] }: { port?: number; allowWebhooks?: string[] } = {}) {
  const { agent, wrap } = await handlerFunctions({
    // GetAgentCardFunc
    getAgentCard: () => ({
      name: 'Reporter',
      description: 'Writes reports',
      version: '1.0.0',
      capabilities: { pushNotifications: true },
    }),

    // SendTaskFunc: the server stores the returned task under `context.id`.
    sendTask({ id, text }) {
      if (text === '') return { id, status: { state: 'TASK_STATE_REJECTED' } }
      return { id, status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [report(text)] }
    },

    // GetTaskFunc: the stored task, with a note
    async getTask(_params, stored) {
      counts.reads += 1
      const task = await stored()
      return { ...task, metadata: { ...task.metadata, reads: counts.reads } }
    },

    // CancelTaskFunc: a rule before the task is canceled
    async cancelTask({ metadata }, cancel) {
      if (metadata?.reason === undefined) throw new A2AError('TASK_NOT_CANCELABLE', 'Say why: metadata.reason')
      return await cancel()
    },

    // SendTaskSubscribeFunc: updates are events of the stream
    async sendTaskSubscribe(context) {
      context.update('Reading')
      if (context.text === 'slowly') await waitForCancel(context)
      context.update({ artifactId: 'outline', name: 'outline', parts: [{ text: `1. ${context.text}` }] })
      return { status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [report(context.text)] }
    },

    // ResubscribeFunc
    resubscribe() {
      counts.joins += 1
    },

    // SetTaskPushNotificationsFunc: the server stores the returned config
    setTaskPushNotifications: (params) => ({ ...params, token: params.token ?? 'reports' }),

    // GetTaskPushNotificationsFunc: the stored config, without its token
    async getTaskPushNotifications(_params, stored) {
      const { token: _token, ...config } = await stored()
      return config
    },
  })
  const served = await serve(agent, {
    port,
    dialects: ['v1', 'v0.3', { dialect: 'v0.1-go', path: '/' }],
    push: { allowHosts: allowWebhooks },
    advanced: { wrap },
  })
  return Object.assign(served, { counts })
}
