/** A run that asks, as none of `npm start` does: its question is a form. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchBrowser, openPage } from './chromium.js'
import { createWorld, type World } from './world.js'

let browser: Browser
let world: World
beforeAll(async () => {
  ;[browser, world] = await Promise.all([launchBrowser(), createWorld()])
})
afterAll(async () => {
  await browser.close()
  await world[Symbol.asyncDispose]()
})

describe('the console', () => {
  it('runs a workflow: the graph, its question, a step’s own task, the result', async () => {
    await using opened = await openPage(browser, `${world.console.url}#/workflows`)
    const { page, complaints } = opened
    await page.getByLabel('Topic').fill('Rivers of the world')
    await page.keyboard.press('Enter')
    await page.getByLabel('Publish now').selectOption({ label: 'yes' })
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.locator('.document h1', { hasText: 'Ready' }).waitFor()
    await page.locator('.react-flow__node', { hasText: 'summary' }).click()
    await page.getByRole('link', { name: 'Open its task' }).click()
    await page.locator('.event-row').first().waitFor()
    await page.getByRole('link', { name: 'Workflows', exact: true }).click()
    await page.getByRole('link', { name: 'Rivers of the world' }).waitFor()
    expect(complaints).toEqual([])
  })
})
