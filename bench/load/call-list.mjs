import { openConnection } from './connection.mjs'
import { resultOf, v1Call } from './dialects.mjs'
import { withMany } from './workers.mjs'

/**
 * Times `repeats` ListTasks calls, one after the other: the question is how long one caller waits.
 *
 * @param {{ origin: string, repeats: number, expectedTotal: number }} options
 * @returns {Promise<{ firstPageMs: number[], nextPageMs: number[] }>}
 */
export function callList({ origin, repeats, expectedTotal }) {
  return withMany(1, { open: () => openConnection(origin) }, async ([connection]) => {
    const firstPageMs = []
    const nextPageMs = []
    let pageToken = ''
    for (let repeat = 0; repeat < repeats; repeat++) {
      const first = await timeList(connection, { pageSize: 50 })
      assertPage(first.page, expectedTotal)
      firstPageMs.push(first.ms)
      // Walks on through the list, so that each page is another one.
      const next = await timeList(connection, {
        pageSize: 50,
        pageToken: pageToken || first.page.nextPageToken,
      })
      assertPage(next.page, expectedTotal)
      nextPageMs.push(next.ms)
      pageToken = next.page.nextPageToken
    }
    return { firstPageMs, nextPageMs }
  })
}

async function timeList(connection, params) {
  const startedAt = performance.now()
  const page = resultOf(await connection.call(v1Call('ListTasks', params)))
  return { page, ms: performance.now() - startedAt }
}

function assertPage(page, expectedTotal) {
  if (page.tasks?.length === 50 && page.totalSize === expectedTotal) return
  throw new Error(`Wanted 50 of ${expectedTotal} tasks, got ${page.tasks?.length} of ${page.totalSize}`)
}
