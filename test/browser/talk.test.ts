/** The console's page, driven by clicks and keys, against agents that really run. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ServerProcess } from '../process/server-process.js'
import { launchBrowser, openPage } from './chromium.js'
import { startConsole, startEcho } from './console-process.js'

let browser: Browser
let echo: ServerProcess
let console: ServerProcess

beforeAll(async () => {
  ;[browser, echo] = await Promise.all([launchBrowser(), startEcho()])
  console = await startConsole('--agent', echo.url)
})
afterAll(async () => {
  await browser.close()
  await Promise.all([echo[Symbol.asyncDispose](), console[Symbol.asyncDispose]()])
})

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text)
  await page.keyboard.press('Enter')
}

async function talkTo(page: Page): Promise<void> {
  await page.getByRole('link', { name: /Echo/ }).click()
  await page.getByRole('link', { name: 'Talk to it' }).click()
  await page.getByLabel('Message').waitFor()
}

describe('talking to an agent', () => {
  it('streams an answer, shows Markdown as elements, and asks and answers within one task', async () => {
    await using opened = await openPage(browser, console.url)
    const { page, complaints } = opened
    await talkTo(page)
    await say(page, 'chunks 20 5')
    await page.getByText('chunk 19 chunk 20').waitFor()
    await say(page, '## Title\n\n- one\n- **two**\n\n<img src=x onerror=alert(1)>')
    await page.locator('.artifact h2', { hasText: 'Title' }).waitFor()
    expect(await page.locator('.artifact li strong').textContent()).toBe('two')
    expect(await page.locator('.artifact img').count()).toBe(0)
    await say(page, 'ask')
    await page.getByText('The agent asks').waitFor()
    await say(page, 'blue')
    await page.locator('.artifact', { hasText: 'ask' }).getByText('blue').waitFor()
    expect(complaints).toEqual([])
  })

  it('speaks the dialect and binding that were picked, gRPC included', async () => {
    await using opened = await openPage(browser, console.url)
    const { page, complaints } = opened
    await talkTo(page)
    for (const way of ['v1 GRPC', 'v0.3 HTTP+JSON', 'v0.1']) {
      await page.getByLabel('Spoken as').selectOption(way)
      await say(page, `said in ${way.replace('+', ' ')}`)
      await page.locator('.artifact', { hasText: `said in ${way.replace('+', ' ')}` }).waitFor()
    }
    await page.getByRole('link', { name: 'Wire' }).click()
    const bindings = page.locator('.call-list .badge', { hasText: /GRPC|HTTP\+JSON/ })
    await bindings.first().waitFor()
    expect(await bindings.count()).toBeGreaterThan(1)
    expect(complaints).toEqual([])
  })

  it('sends files and data, and shows what comes back', async () => {
    await using opened = await openPage(browser, console.url)
    const { page, complaints } = opened
    await talkTo(page)
    await say(page, 'file')
    await page.getByText('fox.txt').waitFor()
    const downloading = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Download' }).click()
    expect((await downloading).suggestedFilename()).toBe('fox.txt')
    await say(page, 'data')
    await page.locator('.tree', { hasText: 'answer' }).getByText('42').waitFor()
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') })
    await page.getByText('a.txt').waitFor()
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.locator('.said', { hasText: 'a.txt' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('cancels a task that runs', async () => {
    await using opened = await openPage(browser, console.url)
    const { page, complaints } = opened
    await talkTo(page)
    await say(page, 'sleep 60000')
    await page.getByText('working').waitFor()
    await page.getByRole('button', { name: 'Cancel task' }).click()
    await page.getByText('canceled').waitFor()
    expect(complaints).toEqual([])
  })
})
