import { type Connection, openConnection } from './connection.ts'
import { type RpcAnswer, resultOf, v1Call, type WireTask } from './dialects.ts'
import { withOne } from './workers.ts'

interface Page {
  readonly tasks?: readonly WireTask[]
  readonly totalSize?: number
  readonly nextPageToken?: string
}

export interface ListOptions {
  readonly origin: string
  readonly repeats: number
  readonly expectedTotal: number
  /** Number of tasks before the deep pages. */
  readonly depth: number
}

export interface ListTimes {
  readonly firstPageMs: number[]
  readonly nextPageMs: number[]
  readonly deepPageMs: number[]
}

/**
 * Times `repeats` ListTasks calls, one after the other: the question is the latency of one caller. Then goes to a page
 * deep in the list, and times the pages from there.
 */
export function callList({ origin, repeats, expectedTotal, depth }: ListOptions): Promise<ListTimes> {
  return withOne(openConnection(origin), async (connection) => {
    const firstPageMs: number[] = []
    const nextPageMs: number[] = []
    let pageToken = ''
    for (let repeat = 0; repeat < repeats; repeat++) {
      const first = await timeList(connection, { pageSize: 50 })
      assertPage(first.page, expectedTotal)
      firstPageMs.push(first.ms)
      // Continues through the list, so that each call reads a different page.
      const next = await timeList(connection, { pageSize: 50, pageToken: pageToken || first.page.nextPageToken })
      assertPage(next.page, expectedTotal)
      nextPageMs.push(next.ms)
      pageToken = next.page.nextPageToken ?? ''
    }
    pageToken = await skip(connection, pageToken, depth - repeats * 50)
    const deepPageMs: number[] = []
    for (let repeat = 0; repeat < repeats; repeat++) {
      const deep = await timeList(connection, { pageSize: 50, pageToken })
      assertPage(deep.page, expectedTotal)
      deepPageMs.push(deep.ms)
      pageToken = deep.page.nextPageToken ?? ''
    }
    return { firstPageMs, nextPageMs, deepPageMs }
  })
}

/** Skips a number of tasks with pages of the maximum size. */
async function skip(connection: Connection, from: string, tasks: number): Promise<string> {
  let pageToken = from
  for (let skipped = 0; skipped < tasks; skipped += 100) {
    const { page } = await timeList(connection, { pageSize: 100, pageToken })
    pageToken = page.nextPageToken ?? ''
  }
  return pageToken
}

async function timeList(connection: Connection, params: object): Promise<{ page: Page; ms: number }> {
  const startedAt = performance.now()
  const page = resultOf(await connection.call<RpcAnswer<Page>>(v1Call('ListTasks', params)))
  return { page, ms: performance.now() - startedAt }
}

function assertPage({ tasks, totalSize }: Page, expectedTotal: number): void {
  if (tasks?.length === 50 && totalSize === expectedTotal) return
  throw new Error(`Expected 50 of ${expectedTotal} tasks, got ${tasks?.length} of ${totalSize}`)
}
