/** Details of screens: calls of a conversation, event positions, results, confirmations. */
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

const ref = () => encodeURIComponent(system.echo.url)

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text)
  await page.keyboard.press('Enter')
}

describe('the wire', () => {
  it('shows a stream that the user closed as closed, not as failed', async () => {
    await using opened = await openPage(browser, `${system.console.url}#/talk?with=${ref()}`)
    const { page, complaints } = opened
    await say(page, 'sleep 60000')
    await page.getByText('working').waitFor()
    await page.getByRole('button', { name: 'Close Echo' }).click()
    await page.getByRole('link', { name: 'Wire' }).click()
    await page.locator('.call-list a', { hasText: 'closed' }).first().click()
    await page.locator('.wire-line').first().waitFor()
    expect(await page.locator('main .badge.bad, main .problem-text').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  it('opens from the conversation, filtered to its calls', async () => {
    await using opened = await openPage(browser, `${system.console.url}#/talk?with=${ref()}`)
    const { page, complaints } = opened
    await say(page, 'msg what is on the wire')
    await page.locator('.heard', { hasText: 'what is on the wire' }).waitFor()
    await page.locator('.talk').getByRole('link', { name: 'Requests and responses' }).click()
    await page.locator('.wire-line', { hasText: 'msg what is on the wire' }).first().waitFor()
    expect(await page.locator('.call-list a').count()).toBe(1)
    expect(complaints).toEqual([])
  })
})

describe('a timeline', () => {
  it('counts from one, and its URLs lead to the same event', async () => {
    await using opened = await openPage(browser, `${system.console.url}#/talk?with=${ref()}`)
    const { page, complaints } = opened
    await say(page, 'chunks 4')
    await page.locator('.heard a', { hasText: 'task' }).click()
    await page.locator('.event-row', { hasText: 'chunk 4' }).waitFor()
    expect(await page.locator('.event-row').first().textContent()).toMatch(/^1\D/)
    await page.getByLabel('Point in the log').fill('4')
    await page.getByText('4 of').waitFor()
    const chosen = await page.locator('.event-row[aria-current]').textContent()
    const address = page.url()
    expect(address).toMatch(/event=\d+/)
    await page.goto('about:blank')
    await page.goto(address)
    await page.getByText('4 of').waitFor()
    expect(await page.locator('.event-row[aria-current]').textContent()).toBe(chosen)
    expect(complaints).toEqual([])
  })
})

describe('the result of a run', () => {
  it('can be read, copied and downloaded, and the steps have a common time axis', async () => {
    await using opened = await openPage(browser, `${system.console.url}#/workflows`)
    const { page, complaints } = opened
    await page.getByRole('button', { name: 'Rivers of the world' }).click()
    await page.getByLabel('Publish now').selectOption({ label: 'yes' })
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.locator('.document h1', { hasText: 'Ready' }).waitFor()
    const result = page.getByRole('region', { name: 'Result' })
    await result.getByRole('button', { name: 'Copy' }).click()
    await result.getByText('Copied').waitFor()
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toContain('The document is *ready*.')
    const downloading = page.waitForEvent('download')
    await result.getByRole('button', { name: 'Download' }).click()
    expect((await downloading).suggestedFilename()).toBe('Rivers of the world.md')
    // A dependent step starts when the other one has ended, or later.
    const begin = (step: string) => page.locator('tr', { hasText: step }).locator('.bar').evaluate(offset)
    expect(await begin('print')).toBeGreaterThan(await begin('outline'))
    expect(complaints).toEqual([])
  })
})

const offset = (bar: { getBoundingClientRect(): { readonly x: number } }) => bar.getBoundingClientRect().x

describe('an action that cannot be undone', () => {
  it('needs a confirmation: the second click withdraws an agent, a second Enter does not', async () => {
    await using opened = await openPage(browser, `${system.console.url}#/registry`)
    const { page, complaints } = opened
    await page.getByLabel('Address of an agent or its card').fill(system.echo.url)
    await page.getByLabel('Name', { exact: true }).fill('short-lived')
    await page.getByRole('button', { name: 'Publish an agent' }).click()
    const found = page.locator('.found', { hasText: 'public/short-lived' })
    await found.getByRole('button', { name: 'Withdraw' }).click()
    const question = found.getByRole('group', { name: /Withdraw public.short-lived/ })
    await question.waitFor()
    await page.keyboard.press('Enter')
    await question.waitFor({ state: 'detached' })
    await found.getByRole('button', { name: 'Withdraw' }).click()
    await question.getByRole('button', { name: 'Withdraw' }).click()
    await found.waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })
})
