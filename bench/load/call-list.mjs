import { openConnection } from './connection.mjs'
import { resultOf, v1Call } from './dialects.mjs'
import { withMany } from './workers.mjs'

/**
 * Times `repeats` ListTasks calls, one after the other: the question is how long one caller waits. Then walks to a page
 * deep in the list, and on from there.
 *
 * @param {{ origin: string, repeats: number, expectedTotal: number, depth: number }} options
 * @returns {Promise<{ firstPageMs: number[], nextPageMs: number[], deepPageMs: number[] }>}
 */
export function callList({ origin, repeats, expectedTotal, depth }) {
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
    pageToken = await walk(connection, pageToken, depth - repeats * 50)
    const deepPageMs = []
    for (let repeat = 0; repeat < repeats; repeat++) {
      const deep = await timeList(connection, { pageSize: 50, pageToken })
      assertPage(deep.page, expectedTotal)
      deepPageMs.push(deep.ms)
      pageToken = deep.page.nextPageToken
    }
    return { firstPageMs, nextPageMs, deepPageMs }
  })
}

/** Past so many tasks, by the largest pages there are. */
async function walk(connection, from, tasks) {
  let pageToken = from
  for (let passed = 0; passed < tasks; passed += 100) {
    const { page } = await timeList(connection, { pageSize: 100, pageToken })
    pageToken = page.nextPageToken
  }
  return pageToken
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
