/** Hostile cards: faults are shown beside their fields, and all content is plain text. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveConsole } from 'dragoman/console'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchBrowser, openPage } from './chromium.js'

const card = {
  name: '<img src=x onerror="document.title=1">Hostile',
  description: '<script>document.title = 2</script>',
  version: '1.0.0',
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [{ id: 'one', name: 'One', description: 'A skill without tags', examples: ['javascript:alert(1)'] }],
}

let browser: Browser
const strange = createServer((_request, response) => {
  const { port } = strange.address() as AddressInfo // it listens
  const url = `http://localhost:${port}/`
  response.setHeader('content-type', 'application/json')
  response.end(
    JSON.stringify({ ...card, supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }),
  )
})
beforeAll(async () => {
  browser = await launchBrowser()
  await new Promise<void>((resolve) => strange.listen(0, 'localhost', resolve))
})
afterAll(async () => {
  await browser.close()
  strange.close()
})

describe('a card', () => {
  it('shows faults beside their fields, and its texts as plain text', async () => {
    const ref = `http://localhost:${(strange.address() as AddressInfo).port}`
    await using served = await serveConsole({ agents: [ref] })
    await using opened = await openPage(browser, `${served.url}#/agents/${encodeURIComponent(ref)}`)
    const { page, complaints } = opened
    await page.getByRole('heading', { name: '<img src=x' }).waitFor()
    await page.getByText('<script>document.title = 2</script>').waitFor()
    await page.getByText(/\d+ problems?/).waitFor()
    await page.getByRole('tab', { name: 'Card' }).click()
    const skill = page.locator('.tree li', { has: page.locator('.key', { hasText: 'skills:' }) }).first()
    await skill.locator('.fault').first().waitFor()
    expect(await skill.locator('.fault').first().textContent()).toMatch(/\w/)
    expect(await page.title()).toBe('Agents · Dragoman console')
    expect(complaints).toEqual([])
  })
})
