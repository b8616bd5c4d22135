/** Every screen on a phone: none is wider than the phone, and all are reachable. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchBrowser, openPage } from './chromium.js'
import { startTestSystem, type TestSystem } from './test-system.js'

let browser: Browser
let system: TestSystem
beforeAll(async () => {
  ;[browser, system] = await Promise.all([launchBrowser(), startTestSystem()])
})
afterAll(async () => {
  await browser.close()
  await system[Symbol.asyncDispose]()
})

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true }
const names = ['Agents', 'Talk', 'Workflows', 'Tasks', 'Wire', 'Compare', 'Push', 'Registry']

/** Elements that are wider than the window. */
async function tooWide(page: Page): Promise<readonly string[]> {
  return await page.evaluate<string[]>(`[document.scrollingElement, document.querySelector('main')]
    .filter((each) => each.scrollWidth > Math.min(innerWidth, each.clientWidth))
    .map((each) => each.tagName + ' ' + each.scrollWidth + ' ' + location.hash)`)
}

describe('on a phone', () => {
  it('every screen needs at most two taps, and none is wider than the phone', async () => {
    await using opened = await openPage(browser, system.console.url, phone)
    const { page, complaints } = opened
    const bar = page.getByRole('navigation', { name: 'Main' })
    for (const name of names) {
      const link = bar.getByRole('link', { name, exact: true })
      if (!(await link.isVisible())) await bar.getByRole('button', { name: 'More' }).tap()
      const box = await link.boundingBox()
      expect(box && box.x >= 0 && box.x + box.width <= 390 && box.y + box.height <= 844, name).toBe(true)
      await link.tap()
      await page.locator('main h1, main .first-words').first().waitFor()
      expect(await tooWide(page)).toEqual([])
    }
    await bar.getByRole('button', { name: 'More' }).tap()
    await page.getByLabel('Theme').selectOption('dark')
    await page.getByLabel('语言').selectOption('zh')
    await page.getByRole('heading', { name: '注册中心', level: 1 }).waitFor()
    expect(await tooWide(page)).toEqual([])
    expect(complaints).toEqual([])
  })

  it('a conversation, its task, its wire, a comparison, an agent and a run fit', async () => {
    await using opened = await openPage(browser, system.console.url, phone)
    const { page, complaints } = opened
    const ref = encodeURIComponent(system.echo.url)
    const look = async (path: string, sign: string) => {
      await page.goto(`${system.console.url}#/${path}`)
      await page.locator(sign).first().waitFor()
      expect(await tooWide(page)).toEqual([])
    }
    for (const tab of ['overview', 'card', 'diff', 'raw', 'access'])
      await look(`agents/${ref}?tab=${tab}`, '.panel .body')
    // The chosen entry replaces the list, with a link back.
    await page.getByRole('link', { name: 'Back to the list' }).tap()
    await page.locator('.agent-list a', { hasText: 'Echo' }).waitFor()
    await look(`talk?with=${ref}`, '.composer')
    await page.getByLabel('Message').fill(`chunks 30\n\n${'wide'.repeat(60)}`)
    await page.getByRole('button', { name: 'Send', exact: true }).tap()
    await page.locator('.heard a').first().waitFor()
    expect(await tooWide(page)).toEqual([])
    // A task with one call opens that call.
    await page.locator('.heard').getByRole('link', { name: 'Requests and responses' }).tap()
    await page.locator('.wire-line').first().waitFor()
    expect(await tooWide(page)).toEqual([])
    await page.goBack()
    await page.locator('.heard').getByRole('link', { name: /task/ }).first().tap()
    await page.locator('.event-row').first().waitFor()
    expect(await tooWide(page)).toEqual([])
    await look(`tasks/${ref}`, 'tbody a')
    await look('wire', '.call-list a')
    await page.locator('.call-list a').first().tap()
    await page.locator('.wire-line').first().waitFor()
    expect(await tooWide(page)).toEqual([])
    await look(`compare/${ref}`, 'form .is-main')
    await page.getByRole('button', { name: 'Send in each' }).tap()
    await page.locator('.lines .new').first().waitFor()
    expect(await tooWide(page)).toEqual([])
    await look('workflows', 'form .is-example')
    await page.getByRole('button', { name: 'Rivers of the world' }).tap()
    await page.locator('.react-flow__node').first().waitFor()
    expect(await tooWide(page)).toEqual([])
    expect(complaints).toEqual([])
  })
})
