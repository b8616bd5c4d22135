/** From one screen to the next, as people go: tasks, the wire, every dialect, webhooks, the registry, a workflow. */
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

const ref = () => encodeURIComponent(world.echo.url)

describe('the console', () => {
  it('adds an agent that was pasted, examines it on three levels, and keeps its credential to itself', async () => {
    await using opened = await openPage(browser, world.console.url)
    const { page, complaints } = opened
    await page.getByLabel('Address of an agent or its card').fill(world.echo.url.replace(/\/$/, ''))
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByLabel('Make a real call too, with').first().check()
    await page.getByRole('button', { name: 'Check now' }).click()
    await page.getByText('Real call', { exact: true }).waitFor()
    expect(await page.locator('.levels .badge.bad').count()).toBe(0)
    expect(await page.locator('.levels li').count()).toBeGreaterThan(4)
    await page.getByRole('tab', { name: 'Access' }).click()
    await page.getByRole('combobox', { name: 'Credential' }).selectOption('bearer')
    await page.getByLabel('Token').fill('very secret')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('A credential is set.').waitFor()
    expect(await page.evaluate('JSON.stringify(localStorage) + document.cookie')).not.toContain('secret')
    expect(complaints).toEqual([])
  })

  it('lists tasks by state and takes one apart, event by event, at an address of its own', async () => {
    await using opened = await openPage(browser, `${world.console.url}#/talk?with=${ref()}`)
    const { page, complaints } = opened
    for (const text of ['chunks 4', 'fail']) {
      await page.getByLabel('Message').fill(text)
      await page.keyboard.press('Enter')
    }
    await page.getByText('failed', { exact: true }).waitFor()
    await page.goto(`${world.console.url}#/tasks/${ref()}`)
    await page.getByLabel('State').selectOption('TASK_STATE_FAILED')
    await page.getByText('1 task', { exact: true }).waitFor()
    await page.getByLabel('State').selectOption('TASK_STATE_COMPLETED')
    await page.locator('tbody a').first().click()
    await page.locator('.event-row', { hasText: 'chunk 4' }).waitFor()
    await page.getByLabel('Point in the log').fill('4')
    await page.getByText('chunk 1 chunk 2').waitFor()
    expect(await page.locator('.artifact').textContent()).not.toContain('chunk 3')
    const address = page.url()
    expect(address).toContain('event=4')
    await page.goto('about:blank')
    await page.goto(address)
    await page.getByText('4 of').waitFor()
    expect(complaints).toEqual([])
  })

  it('shows every exchange, and copies it as something to run', async () => {
    await using opened = await openPage(browser, `${world.console.url}#/talk?with=${ref()}`)
    const { page, complaints } = opened
    await page.getByLabel('Message').fill("it's here")
    await page.keyboard.press('Enter')
    await page.locator('.artifact').waitFor()
    await page.getByRole('link', { name: 'Wire' }).click()
    await page.locator('.call-list a').first().click()
    await page.locator('.wire-line', { hasText: 'SendStreamingMessage' }).waitFor()
    await page.getByRole('button', { name: 'Copy as curl' }).click()
    await page.getByText('Copied').waitFor()
    const curl = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(curl).toContain("curl -N -X POST '")
    expect(curl).toContain("it'\\''s here")
    await page.getByRole('button', { name: 'Copy as TypeScript' }).click()
    await page.getByText('Copied').nth(1).waitFor()
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toContain('await connect("http')
    expect(complaints).toEqual([])
  })

  it('sends one message in every dialect and marks what differs on the wire', async () => {
    await using opened = await openPage(browser, `${world.console.url}#/compare/${ref()}`)
    const { page, complaints } = opened
    await page.getByRole('button', { name: 'Send in every dialect' }).click()
    const column = (name: string) => page.getByRole('article', { name, exact: true })
    await column('v1 JSONRPC').getByText('"method": "SendMessage"').waitFor()
    await column('v0.3 JSONRPC').locator('.new', { hasText: '"method": "message/send"' }).waitFor()
    await column('v0.1 JSONRPC').locator('.new', { hasText: '"method": "tasks/send"' }).waitFor()
    await column('v1 GRPC').getByText('SendMessage').first().waitFor()
    expect(complaints).toEqual([])
  })

  it('receives the deliveries of a task it was registered with', async () => {
    await using opened = await openPage(browser, `${world.console.url}#/push`)
    const { page, complaints } = opened
    await page.getByRole('button', { name: 'Start a task that reports here' }).click()
    await page.getByRole('region', { name: 'Deliveries' }).getByText('completed').waitFor()
    await page.getByText('Registered webhooks').waitFor()
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No webhook is registered').waitFor()
    expect(complaints).toEqual([])
  })

  it('searches the registry, uses what it finds, publishes, and sees the change live', async () => {
    await using opened = await openPage(browser, `${world.console.url}#/registry`)
    const { page, complaints } = opened
    await page.getByLabel('Search').fill('repeats')
    await page.getByText('match', { exact: false }).first().waitFor()
    await page.getByLabel('Address of an agent or its card').fill(world.echo.url)
    await page.getByLabel('Name', { exact: true }).fill('second-echo')
    await page.getByRole('button', { name: 'Publish an agent' }).click()
    await page.getByText('Published', { exact: true }).waitFor()
    await page.getByRole('region', { name: 'Live' }).getByText('public/second-echo').first().waitFor()
    await page.getByRole('button', { name: 'Use here' }).first().click()
    await page.getByRole('link', { name: 'Talk to it' }).click()
    await page.getByLabel('Message').fill('found by name')
    await page.keyboard.press('Enter')
    await page.locator('.artifact', { hasText: 'found by name' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('runs a workflow: the graph, its question, a step’s own task, the result', async () => {
    await using opened = await openPage(browser, `${world.console.url}#/workflows`)
    const { page, complaints } = opened
    await page.getByLabel('Topic').fill('Rivers of the world')
    await page.keyboard.press('Enter')
    await page.getByLabel('Publish now').selectOption({ label: 'yes' })
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.locator('.artifact h1', { hasText: 'Ready' }).waitFor()
    await page.locator('.react-flow__node', { hasText: 'summary' }).click()
    await page.getByRole('link', { name: 'Open its task' }).click()
    await page.locator('.event-row').first().waitFor()
    await page.getByRole('link', { name: 'Workflows', exact: true }).click()
    await page.getByRole('link', { name: 'Rivers of the world' }).waitFor()
    expect(complaints).toEqual([])
  })
})
