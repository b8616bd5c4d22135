/** The scenarios that every MCP client passes, over HTTP and over stdio. */
import type { ElicitResult } from '@modelcontextprotocol/client'
import { gate, until } from 'dragoman/testing'
import { describe, expect, it } from 'vitest'
import { createTailor, serveMcp } from './mcp-agents.js'
import { clients, type Target, taskIdIn, textIn } from './mcp-clients.js'

const anonymous = { caller: { id: 'anonymous' } }
const accept = (content: NonNullable<ElicitResult['content']>): ElicitResult => ({ action: 'accept', content })

/** Runs the scenarios. `targetOf` returns the MCP server for a running port, whose tools wait `waitMs` at most. */
export function mcpScenarios(
  kind: string,
  targetOf: (server: { readonly url: string }, options: { readonly waitMs: number }) => Target,
): void {
  describe.each(Object.entries(clients))(`client %s over ${kind}`, (_name, connect) => {
    async function open({
      waitMs = 20_000,
      ...options
    }: Parameters<typeof connect>[1] & { readonly waitMs?: number } = {}) {
      const agents = createTailor()
      const server = await serveMcp(agents.tailor, { waitMs })
      const client = await connect(targetOf(server, { waitMs }), options)
      const service = server.served.services.get('Tailor')
      if (!service) throw new Error('no service')
      const states = async () => (await service.listTasks({}, anonymous)).tasks.map(({ status }) => status.state)
      return {
        ...agents,
        ...client,
        served: server.served,
        states,
        async [Symbol.asyncDispose]() {
          await client[Symbol.asyncDispose]()
          await server[Symbol.asyncDispose]()
        },
      }
    }

    it('lists and calls an agent', async () => {
      await using client = await open()
      expect((await client.tools()).map(({ name }) => name)).toEqual(['Tailor', 'a2a_reply', 'a2a_task'])
      const result = await client.call('Tailor', { message: 'hello' })
      expect(result.content[0]).toEqual({ type: 'text', text: 'Sewn: hello' })
      expect(result.isError).toBeFalsy()
    })

    it('continues a conversation by its context_id', async () => {
      await using client = await open()
      const first = await client.call('Tailor', { message: 'one' })
      const contextId = String(first._meta?.['dragoman/contextId'])
      expect(textIn(first)).toContain(`context_id ${JSON.stringify(contextId)}`)
      const second = await client.call('Tailor', { message: 'two', context_id: contextId })
      expect(second._meta?.['dragoman/contextId']).toBe(contextId)
    })

    it('asks the user, and continues with the answer', async () => {
      const asked: unknown[] = []
      await using client = await open({
        answer: (params) => {
          asked.push(params)
          return accept({ answer: '52' })
        },
      })
      const result = await client.call('Tailor', { message: 'suit' })
      expect(result.content[0]).toEqual({ type: 'text', text: 'Made: 52' })
      expect(asked).toMatchObject([
        {
          message: 'Which size?',
          requestedSchema: { properties: { answer: { type: 'string' } }, required: ['answer'] },
        },
      ])
      expect(await client.states()).toEqual(['TASK_STATE_COMPLETED'])
    })

    it('shows a form, asks again when the answer does not fit, and returns the output of all turns', async () => {
      const asked: { readonly message: string }[] = []
      await using client = await open({
        answer: (params) => {
          asked.push(params)
          return accept(asked.length === 1 ? { cloth: 'wool', length: 0 } : { cloth: 'wool', length: 3 })
        },
      })
      const result = await client.call('Tailor', { message: 'form' })
      expect(asked[0]).toMatchObject({
        message: 'A draft.\n\nWhich cloth?',
        requestedSchema: {
          properties: { cloth: { type: 'string', enum: ['wool', 'silk'] }, length: { type: 'integer', minimum: 1 } },
          required: ['cloth'],
        },
      })
      expect(asked[1]?.message).toMatch(/length.*\n\nWhich cloth\?$/s)
      expect(asked).toHaveLength(2)
      expect(textIn(result)).toContain('A draft.\nMade: {"cloth":"wool","length":3}')
    })

    it.each(['decline', 'cancel'] as const)('returns the question when the user chooses %s', async (action) => {
      await using client = await open({ answer: () => ({ action }) })
      const result = await client.call('Tailor', { message: 'form' })
      expect(textIn(result)).toMatch(/A draft\..*Which cloth\?/s)
      expect(await client.states()).toEqual(['TASK_STATE_INPUT_REQUIRED'])
      const reply = await client.call('a2a_reply', { task_id: taskIdIn(result), answer: { cloth: 'silk' } })
      expect(textIn(reply)).toContain('Made: {"cloth":"silk"}')
    })

    it('returns the question as text if the client cannot be asked', async () => {
      await using client = await open()
      const result = await client.call('Tailor', { message: 'form' })
      expect(textIn(result)).toMatch(/A draft\..*Which cloth\?.*"enum":\["wool","silk"\].*a2a_reply/s)
      expect(result.isError).toBeFalsy()
      const id = taskIdIn(result)
      const wrong = await client.call('a2a_reply', { task_id: id, answer: { cloth: 'jute' } })
      expect(wrong.isError).toBe(true)
      const reply = await client.call('a2a_reply', { task_id: id, answer: { cloth: 'silk' } })
      expect(textIn(reply)).toContain('Made: {"cloth":"silk"}')
      const late = await client.call('a2a_reply', { task_id: id, answer: { cloth: 'silk' } })
      expect(late.isError).toBe(true)
    })

    it('reports progress', async () => {
      const progress: unknown[] = []
      await using client = await open()
      const calling = client.call('Tailor', { message: 'progress' }, { onProgress: (each) => progress.push(each) })
      await until(() => progress.length === 2)
      client.finish.open()
      expect(textIn(await calling)).toContain('Done')
      expect(progress).toEqual(['Cutting', 'Sewing'])
    })

    it('cancels the task of a call that the client cancels', async () => {
      await using client = await open()
      const cancel = new AbortController()
      const calling = client.call('Tailor', { message: 'slow' }, { signal: cancel.signal })
      await client.begun.opened
      cancel.abort()
      await expect(calling).rejects.toThrow()
      await client.stopped.opened
      await until(async () => (await client.states())[0] === 'TASK_STATE_CANCELED')
    })

    it('leaves a task alone that has asked, after its call', async () => {
      await using client = await open({ answer: () => ({ action: 'decline' }) })
      await client.call('Tailor', { message: 'suit' })
      await client.call('Tailor', { message: 'hello' })
      expect((await client.states()).sort()).toEqual(['TASK_STATE_COMPLETED', 'TASK_STATE_INPUT_REQUIRED'])
    })

    it('answers with the id of a task that takes longer than the client waits', async () => {
      await using client = await open({ waitMs: 100 })
      const result = await client.call('Tailor', { message: 'slow' })
      expect(textIn(result)).toMatch(/still running.*a2a_task/s)
      const id = taskIdIn(result)
      expect(textIn(await client.call('a2a_task', { task_id: id }))).toMatch(/Half\. .*still running/s)
      client.finish.open()
      await until(async () => (await client.states())[0] === 'TASK_STATE_COMPLETED')
      const end = await client.call('a2a_task', { task_id: id })
      expect(end.content[0]).toEqual({ type: 'text', text: 'Half. Whole.' })
    })

    it('waits for the newest turn of a task', async () => {
      await using client = await open({ waitMs: 100 })
      const asked = await client.call('Tailor', { message: 'suit' })
      const id = taskIdIn(asked)
      expect(textIn(await client.call('a2a_reply', { task_id: id, answer: 'slow' }))).toMatch(/still running/)
      expect(textIn(await client.call('a2a_task', { task_id: id }))).toMatch(/Half\. .*still running/s)
      client.finish.open()
      await until(async () => (await client.states())[0] === 'TASK_STATE_COMPLETED')
      expect(textIn(await client.call('a2a_task', { task_id: id }))).toContain('Half. Whole.')
    })

    it('waits for a running task', async () => {
      await using client = await open({ waitMs: 1000 })
      const result = await client.call('Tailor', { message: 'slow' })
      const waiting = client.call('a2a_task', { task_id: taskIdIn(result) })
      client.finish.open()
      expect((await waiting).content[0]).toEqual({ type: 'text', text: 'Half. Whole.' })
    })

    it('returns data, files and failures', async () => {
      await using client = await open()
      expect(await client.call('Tailor', { message: 'data' })).toMatchObject({
        content: [{ type: 'text', text: '{"chest":100}' }, {}],
        structuredContent: { chest: 100 },
      })
      expect((await client.call('Tailor', { message: 'lists' })).structuredContent).toEqual({ results: [[1], 2] })
      expect((await client.call('Tailor', { message: 'files' })).content).toMatchObject([
        { type: 'image', data: 'AQI=', mimeType: 'image/png' },
        { type: 'audio', data: 'Aw==', mimeType: 'audio/wav' },
        {
          type: 'resource',
          resource: { blob: 'BA==', mimeType: 'application/pdf', uri: expect.stringContaining('b.pdf') },
        },
        { type: 'resource_link', uri: 'https://files.example/c.txt', name: 'c.txt' },
        {},
      ])
      const failed = await client.call('Tailor', { message: 'fail' })
      expect(failed.isError).toBe(true)
      expect(textIn(failed)).toContain('No cloth left')
      const thrown = await client.call('Tailor', { message: 'throw' })
      expect(thrown.isError).toBe(true)
      expect(textIn(thrown)).not.toContain('secret')
    })

    it('opens the page where the user signs in, and waits for the credential', async () => {
      const asked: unknown[] = []
      const seen = gate()
      await using client = await open({
        opensLinks: true,
        answer: (params) => {
          asked.push(params)
          seen.open()
          return { action: 'accept' }
        },
      })
      const calling = client.call('Tailor', { message: 'sign in' })
      await seen.opened
      const [task] = (await client.served.services.get('Tailor')?.listTasks({}, anonymous))?.tasks ?? []
      await client.served.provideCredential({ taskId: task?.id ?? '', credential: 'a key' })
      expect(textIn(await calling)).toContain('Signed in with a key')
      expect(asked).toMatchObject([{ mode: 'url', url: 'https://login.example/start?task=1' }])
    })

    it('names the page where the user signs in if the client cannot open it', async () => {
      await using client = await open()
      const result = await client.call('Tailor', { message: 'sign in' })
      expect(textIn(result)).toMatch(/Sign in at https:\/\/login\.example.*a2a_task/s)
      const [task] = (await client.served.services.get('Tailor')?.listTasks({}, anonymous))?.tasks ?? []
      await client.served.provideCredential({ taskId: task?.id ?? '', credential: 'a key' })
      const end = await client.call('a2a_task', { task_id: taskIdIn(result) })
      expect(textIn(end)).toContain('Signed in with a key')
    })
  })
}
