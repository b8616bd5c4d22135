/** Large tasks and fast streams: the number of elements stays small, and the page stays responsive. Times are logged, not asserted. */
import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ServerProcess } from '../process/server-process.js'
import { launchBrowser, openPage } from './chromium.js'
import { startConsole, startEcho } from './console-process.js'

let browser: Browser
let echo: ServerProcess
let served: ServerProcess
beforeAll(async () => {
  ;[browser, echo] = await Promise.all([launchBrowser(), startEcho()])
  served = await startConsole('--agent', echo.url)
})
afterAll(async () => {
  await browser.close()
  await Promise.all([echo[Symbol.asyncDispose](), served[Symbol.asyncDispose]()])
})

const built = new URL('../../dist/console/page/', import.meta.url)
const kilobyte = 1024

describe('the page', () => {
  it('loads less than 250 kB of script before the first paint', async () => {
    const loaded: string[] = []
    await using opened = await openPage(browser, 'about:blank')
    const { page } = opened
    page.on('request', (request) => loaded.push(new URL(request.url()).pathname))
    await page.goto(served.url)
    await page.locator('.agent-list a').waitFor()
    const scripts = loaded.filter((path) => path.endsWith('.js'))
    expect(scripts.length).toBeGreaterThan(0)
    const bytes = scripts.map((path) => gzipSync(readFileSync(new URL(`.${path}`, built))).byteLength)
    const total = bytes.reduce((sum, each) => sum + each, 0)
    const shownMs = await page.evaluate<number>("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    console.info(`script ${Math.round(total / kilobyte)} kB gzipped, first paint after ${Math.round(shownMs)} ms`)
    expect(total).toBeLessThan(250 * kilobyte)
    expect(loaded.filter((path) => /markdown|graph/.test(path))).toEqual([])
  })

  it('consists of local files with content hashes in their names', () => {
    const html = readFileSync(new URL('index.html', built), 'utf8')
    expect(html).not.toMatch(/<style|<script(?![^>]*src=)|https?:\/\/(?!www\.w3\.org)/)
    const files = readdirSync(new URL('console/assets/', built))
    expect(files.filter((name) => !/-[\w-]{8}\.(js|css|svg)$/.test(name))).toEqual([])
  })
})

describe('a task of 10,000 events', () => {
  it('has a timeline of a few dozen elements, from the first event to the last', async () => {
    await using opened = await openPage(browser, `${served.url}#/talk?with=${encodeURIComponent(echo.url)}`)
    const { page, complaints } = opened
    await page.getByLabel('Message').fill('chunks 10000')
    await page.keyboard.press('Enter')
    await page.getByText('completed', { exact: true }).waitFor({ timeout: 60_000 })
    await page.locator('.heard a').first().click()
    await page.getByText(/of 1000\d/).waitFor({ timeout: 60_000 })
    const rows = page.locator('.event-row')
    await page.locator('.event-row', { hasText: 'completed' }).waitFor()
    expect(await rows.count()).toBeLessThan(100)
    await page.getByRole('listbox').press('Home')
    await page.locator('.event-row', { hasText: 'submitted' }).waitFor()
    expect(await rows.count()).toBeLessThan(100)
    const frames = await page.evaluate<number[]>(`new Promise((resolve) => {
      const box = document.querySelector('.timeline')
      const gaps = []
      let last = performance.now()
      const step = (now) => {
        gaps.push(now - last)
        last = now
        box.scrollTop += 900
        if (gaps.length < 120) requestAnimationFrame(step)
        else resolve(gaps)
      }
      requestAnimationFrame(step)
    })`)
    const sorted = [...frames].sort((a, b) => a - b)
    console.info(`scrolling: median frame ${sorted[60]?.toFixed(1)} ms, worst ${sorted.at(-1)?.toFixed(1)} ms`)
    expect(complaints).toEqual([])
  })
})

describe('a stream of 1,000 events a second', () => {
  it('keeps the page responsive: typed text appears at once', async () => {
    await using opened = await openPage(browser, `${served.url}#/talk?with=${encodeURIComponent(echo.url)}`)
    const { page, complaints } = opened
    const box = page.getByLabel('Message')
    await box.fill('chunks 5000 1')
    await page.keyboard.press('Enter')
    await page.getByText('working').waitFor()
    await page.evaluate(`
      globalThis.longTasks = []
      new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((each) => each.duration))).observe({ type: 'longtask' })
    `)
    const typed = 'typed while it streams'
    await box.pressSequentially(typed)
    expect(await box.inputValue()).toBe(typed)
    expect(await page.getByText('working').count()).toBe(1)
    await page.getByText('completed', { exact: true }).waitFor({ timeout: 60_000 })
    await page.locator('.artifact', { hasText: 'chunk 5000' }).waitFor()
    const tasks = await page.evaluate<number[]>('longTasks')
    console.info(`long tasks: ${tasks.length}, longest ${Math.round(Math.max(0, ...tasks))} ms`)
    expect(complaints).toEqual([])
  })
})
