/** Serves an agent that may call local webhooks, with short delays, on the given store. */
import { MemoryStore, type Task } from 'dragoman'
import { createHandler, type FetchHandler, type HandlerOptions } from 'dragoman/server'
import { openSqliteStore } from 'dragoman/stores/sqlite'
import { userMessage } from 'dragoman/testing'
import type { CompleteStore } from '../../src/stores/store.js'
import { echoAgent } from '../../src/testing/echo-agent.js'

export const storeKinds = ['memory', 'sqlite'] as const

export interface PushServer extends AsyncDisposable {
  readonly handler: FetchHandler
  readonly store: CompleteStore
  readonly logged: string[]
  call<Result>(method: string, params: object): Promise<Result>
  /** Sends a text, with a webhook for its task. */
  send(text: string, webhook?: object, more?: object): Promise<Task>
  register(taskId: string, webhook: object): Promise<{ readonly id: string }>
}

export interface PushServerOptions extends Omit<HandlerOptions, 'store'> {
  readonly store?: (typeof storeKinds)[number] | CompleteStore
}

export async function pushServer({ store: given = 'memory', ...options }: PushServerOptions = {}): Promise<PushServer> {
  const store = given === 'memory' ? new MemoryStore() : given === 'sqlite' ? await openSqliteStore(':memory:') : given
  const logged: string[] = []
  const handler = await createHandler(echoAgent, {
    log: ({ level, message }) => void (level !== 'debug' && logged.push(message)),
    ...options,
    store,
    push: { allowHosts: ['127.0.0.1'], firstRetryMs: 5, timeoutMs: 2000, pollMs: 100, ...options.push },
  })
  const call = async <Result>(method: string, params: object): Promise<Result> => {
    const request = new Request('http://localhost/', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    const answer = (await (await handler.fetch(request)).json()) as { result?: Result; error?: { message: string } }
    if (answer.error) throw new Error(answer.error.message)
    return answer.result as Result
  }
  return {
    handler,
    store,
    logged,
    call,
    async send(text, webhook, more = {}) {
      const configuration = webhook && { taskPushNotificationConfig: webhook }
      const message = { ...userMessage(text), ...more }
      const { task } = await call<{ task: Task }>('SendMessage', { message, ...(configuration && { configuration }) })
      return task
    },
    register: (taskId, webhook) => call('CreateTaskPushNotificationConfig', { taskId, ...webhook }),
    async [Symbol.asyncDispose]() {
      await handler.close({ deadlineMs: 0 })
      if (given === 'memory' || given === 'sqlite') await store.close()
    },
  }
}
