import { apiKey, type Task } from 'dragoman'
import { describe, expect, it } from 'vitest'
import { echoAgent } from '../src/testing/echo-agent.js'
import { bindings, type Client, soon, testServer } from './fixture.js'
import { proves } from './proves.js'

interface Page {
  readonly tasks: Task[]
  readonly nextPageToken: string
  readonly pageSize: number
  readonly totalSize: number
}

const list = (client: Client, params: object = {}) => client.call<Page>('ListTasks', params)
const idsOf = ({ tasks }: Pick<Page, 'tasks'>) => tasks.map(({ id }) => id)

/** Sends a message in a millisecond of its own, so that no two tasks have the same time. */
async function sendLater(client: Client, content: string | Record<string, unknown>): Promise<Task> {
  const now = Date.now()
  await expect.poll(() => Date.now() > now, { ...soon, interval: 1 }).toBe(true)
  return await client.send(content)
}

async function pagesOf(client: Client, params: object): Promise<Page[]> {
  const pages: Page[] = []
  let pageToken = ''
  do {
    const page = await list(client, { ...params, ...(pageToken && { pageToken }) })
    pages.push(page)
    pageToken = page.nextPageToken
  } while (pageToken !== '' && pages.length < 100)
  return pages
}

describe.each(bindings)('ListTasks over %s', (binding) => {
  it(proves('R-LIST-1', 'shows callers their own tasks only, with every filter'), async () => {
    await using server = await testServer(echoAgent, { auth: [apiKey({ a: 'alice', b: 'bob' })] })
    const alice = server.over(binding, { 'X-API-Key': 'a' })
    const bob = server.over(binding, { 'X-API-Key': 'b' })
    const hers = await alice.send({ contextId: 'shared' })
    const his = await bob.send({ contextId: 'shared' })
    for (const filter of [{}, { contextId: 'shared' }, { status: 'TASK_STATE_COMPLETED' }]) {
      expect(await list(alice, filter)).toMatchObject({ tasks: [{ id: hers.id }], totalSize: 1 })
      expect(await list(bob, filter)).toMatchObject({ tasks: [{ id: his.id }], totalSize: 1 })
    }
  })

  it(proves('R-LIST-1', 'shows the tasks of one tenant only'), async () => {
    await using server = await testServer(echoAgent, { advanced: { tenants: ['acme', 'globex'] } })
    const client = server.over(binding)
    const task = await client.send('hello', { tenant: 'acme' })
    expect(idsOf(await list(client, { tenant: 'acme' }))).toEqual([task.id])
    expect(await list(client, { tenant: 'globex' })).toMatchObject({ tasks: [], totalSize: 0 })
    expect(await list(client)).toMatchObject({ tasks: [], totalSize: 0 })
  })

  it(proves('R-LIST-1', 'shows no exchange that was only a message'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    await client.call('SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'msg hi' }] } })
    expect(await list(client)).toMatchObject({ tasks: [], totalSize: 0 })
  })

  it(proves('R-LIST-2', 'shows what fits all filters together'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const asking = await sendLater(client, { contextId: 'c-1', parts: [{ text: 'ask' }] })
    const done = await sendLater(client, { contextId: 'c-1' })
    const other = await sendLater(client, { contextId: 'c-2' })
    const after = done.status.timestamp ?? ''
    const justAfter = new Date(Date.parse(after) + 1).toISOString()
    const filtered = async (filter: object) => idsOf(await list(client, filter))
    expect(await filtered({ contextId: 'c-1' })).toEqual([done.id, asking.id])
    expect(await filtered({ status: 'TASK_STATE_INPUT_REQUIRED' })).toEqual([asking.id])
    expect(await filtered({ statusTimestampAfter: after })).toEqual([other.id, done.id])
    expect(await filtered({ statusTimestampAfter: justAfter })).toEqual([other.id])
    expect(await filtered({ contextId: 'c-1', status: 'TASK_STATE_COMPLETED' })).toEqual([done.id])
    expect(await filtered({ contextId: 'c-1', statusTimestampAfter: after })).toEqual([done.id])
    expect(await filtered({ contextId: 'c-2', status: 'TASK_STATE_INPUT_REQUIRED' })).toEqual([])
    expect(await filtered({ contextId: 'c-3' })).toEqual([])
    expect(await filtered({ contextId: '', status: 'TASK_STATE_UNSPECIFIED' })).toHaveLength(3)
  })

  it(proves('R-LIST-3', 'shows the task whose status is newest first'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const first = await sendLater(client, 'ask')
    const second = await sendLater(client, 'hello')
    const third = await sendLater(client, 'ask')
    expect(idsOf(await list(client))).toEqual([third.id, second.id, first.id])
    await sendLater(client, { taskId: first.id })
    expect(idsOf(await list(client))).toEqual([first.id, third.id, second.id])
  })

  it(
    proves(['R-LIST-3', 'R-LIST-4'], 'shows every task once over its pages, also when many have one time'),
    async () => {
      await using server = await testServer(echoAgent)
      const client = server.over(binding)
      await Promise.all(Array.from({ length: 30 }, () => client.send('hello')))
      const all = await list(client)
      const times = all.tasks.map(({ status }) => status.timestamp ?? '')
      expect(times).toEqual([...times].sort().reverse())
      expect(new Set(idsOf(all)).size).toBe(30)
      const pages = await pagesOf(client, { pageSize: 7 })
      expect(pages.map(({ tasks }) => tasks.length)).toEqual([7, 7, 7, 7, 2])
      expect(pages.flatMap(idsOf)).toEqual(idsOf(all))
    },
  )

  it(proves('R-LIST-4', 'always says where the next page begins, and says nothing on the last'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    for (let i = 0; i < 4; i++) await client.send('hello')
    const pages = await pagesOf(client, { pageSize: 2 })
    expect(pages.map(({ nextPageToken }) => nextPageToken === '')).toEqual([false, true])
    expect((await list(client, { pageSize: 4 })).nextPageToken).toBe('')
    expect((await list(client, { contextId: 'none' })).nextPageToken).toBe('')
  })

  it(proves('R-LIST-4', 'goes on where it was when new tasks come in between pages'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    const old = [await sendLater(client, 'one'), await sendLater(client, 'two'), await sendLater(client, 'three')]
    const first = await list(client, { pageSize: 2 })
    await sendLater(client, 'four')
    const second = await list(client, { pageSize: 2, pageToken: first.nextPageToken })
    expect([...idsOf(first), ...idsOf(second)]).toEqual(old.map(({ id }) => id).reverse())
  })

  it.each([0, -1, 101, 1000])(proves('R-LIST-5', 'refuses pages of %i'), async (pageSize) => {
    await using server = await testServer(echoAgent)
    const refusal = await server.over(binding).refusal('ListTasks', { pageSize })
    expect(refusal).toMatchObject({ reason: 'INVALID_PARAMS', violations: [{ field: 'pageSize' }] })
  })

  it(proves('R-LIST-5', 'shows 50 on a page, or 1 to 100 on request'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    await Promise.all(Array.from({ length: 101 }, () => client.send('hello')))
    const sizes = async (params: object) => {
      const { tasks, pageSize, totalSize } = await list(client, params)
      return [tasks.length, pageSize, totalSize]
    }
    expect(await sizes({})).toEqual([50, 50, 101])
    expect(await sizes({ pageSize: 1 })).toEqual([1, 1, 101])
    expect(await sizes({ pageSize: 100 })).toEqual([100, 100, 101])
  })

  it.each(['nonsense', 'bm9uc2Vuc2U', 'W10', 'WyIxLjEiXQ', 'eyJhIjoxfQ', 'null'])(
    proves('R-LIST-6', 'refuses a page token it never made: %s'),
    async (pageToken) => {
      await using server = await testServer(echoAgent)
      const refusal = await server.over(binding).refusal('ListTasks', { pageToken })
      expect(refusal).toMatchObject({ reason: 'INVALID_PARAMS', violations: [{ field: 'pageToken' }] })
    },
  )

  it(proves('R-LIST-6', 'refuses a page token of another filter'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    for (let i = 0; i < 3; i++) await client.send({ contextId: 'c-1' })
    const { nextPageToken: pageToken } = await list(client, { contextId: 'c-1', pageSize: 1 })
    expect(await list(client, { contextId: 'c-1', pageSize: 2, pageToken })).toMatchObject({
      tasks: [{}, {}],
      nextPageToken: '',
    })
    for (const filter of [{}, { contextId: 'c-2' }, { contextId: 'c-1', status: 'TASK_STATE_COMPLETED' }]) {
      const refusal = await client.refusal('ListTasks', { ...filter, pageToken })
      expect(refusal).toMatchObject({ reason: 'INVALID_PARAMS', violations: [{ field: 'pageToken' }] })
    }
  })

  it(
    proves('R-LIST-7', 'leaves artifacts out unless they are asked for, and then shows also that there are none'),
    async () => {
      await using server = await testServer(echoAgent)
      const client = server.over(binding)
      const asking = await sendLater(client, 'ask')
      const done = await sendLater(client, 'chunks 2')
      const failed = await sendLater(client, 'fail')
      for (const params of [{}, { includeArtifacts: false }]) {
        for (const task of (await list(client, params)).tasks) expect(task).not.toHaveProperty('artifacts')
      }
      expect((await list(client, { includeArtifacts: true })).tasks).toEqual([
        { ...failed, artifacts: [] },
        done,
        { ...asking, artifacts: [] },
      ])
    },
  )

  it(proves('R-LIST-8', 'counts what fits before it cuts pages, and says how large they are'), async () => {
    await using server = await testServer(echoAgent)
    const client = server.over(binding)
    for (const text of ['hello', 'hello', 'hello', 'ask']) await client.send(text)
    const pages = await pagesOf(client, { status: 'TASK_STATE_COMPLETED', pageSize: 2 })
    expect(pages.map(({ tasks, pageSize, totalSize }) => [tasks.length, pageSize, totalSize])).toEqual([
      [2, 2, 3],
      [1, 2, 3],
    ])
  })
})
