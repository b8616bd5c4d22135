/** What a newcomer does with `npm start` and a browser, without reading anything: see, talk, run, look at the wire. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TemporaryFolder, temporaryFolder } from '../process/server-process.js'
import { type SystemProcess, startSystem } from '../process/system-process.js'
import { launchBrowser, openPage } from './chromium.js'

let browser: Browser
let folder: TemporaryFolder
let system: SystemProcess
let home: string

beforeAll(async () => {
  folder = await temporaryFolder()
  ;[browser, system] = await Promise.all([launchBrowser(), startSystem(folder.path, ['--ports', 'auto'])])
  home = /^Open (\S+)/m.exec(system.stdout)?.[1] ?? ''
})
afterAll(async () => {
  await browser.close()
  await system[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

describe('the console of npm start', () => {
  it('shows everybody who is there', async () => {
    await using opened = await openPage(browser, home)
    const { page, complaints } = opened
    for (const name of ['OutlineAgent', 'OrderAgent', 'TravelAgent', 'ImageAgent', 'ChatAgent', 'DocumentWorkflow'])
      await page
        .getByRole('link', { name: new RegExp(name) })
        .first()
        .waitFor()
    expect(complaints).toEqual([])
  })

  it('talks to one of them, and shows the wire of what just happened', async () => {
    await using opened = await openPage(browser, home)
    const { page, complaints } = opened
    await page
      .getByRole('link', { name: /OrderAgent/ })
      .first()
      .click()
    await page.getByRole('link', { name: 'Talk to it' }).click()
    await page.getByLabel('Message').fill('ORDER_001')
    await page.keyboard.press('Enter')
    await page.getByText('云边茉莉').first().waitFor()
    await page.getByRole('link', { name: 'Wire' }).click()
    await page
      .locator('.call-list')
      .getByText(/SendStreamingMessage|SendMessage/i)
      .first()
      .click()
    await page.getByText('ORDER_001').first().waitFor()
    expect(complaints).toEqual([])
  })

  it('runs the document workflow, draws it, and has the document to read', async () => {
    await using opened = await openPage(browser, home)
    const { page, complaints } = opened
    await page.getByRole('link', { name: 'Workflows' }).click()
    await page.getByLabel('Topic').fill('Jasmine tea')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.locator('.react-flow__node', { hasText: 'summary' }).waitFor()
    await page.getByText('completed', { exact: true }).first().waitFor()
    await page
      .getByText(/jasmine tea/i)
      .first()
      .waitFor()
    expect(complaints).toEqual([])
  })
})
