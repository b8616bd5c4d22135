/** A workflow run with a question, which is a form. */
import type { Browser } from 'playwright-core'
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

describe('the console', () => {
  it('runs a workflow: the graph, its question, the task of a step, the result', async () => {
    await using opened = await openPage(browser, `${system.console.url}#/workflows`)
    const { page, complaints } = opened
    await page.getByLabel('Topic').fill('Rivers of the world')
    await page.keyboard.press('Enter')
    await page.getByLabel('Publish now').selectOption({ label: 'yes' })
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.locator('.document h1', { hasText: 'Ready' }).waitFor()
    await page.locator('.react-flow__node', { hasText: 'summary' }).click()
    await page.getByRole('link', { name: 'Open the task of this step' }).click()
    await page.locator('.event-row').first().waitFor()
    await page.getByRole('link', { name: 'Workflows', exact: true }).click()
    await page.getByRole('link', { name: 'Rivers of the world' }).waitFor()
    expect(complaints).toEqual([])
  })
})
