/** Several tabs of one browser, and agents that do not answer: none blocks another. */
import { createServer, type Socket } from 'node:net'
import { type Served, serve } from 'dragoman'
import { serveConsole } from 'dragoman/console'
import { echoAgent } from 'dragoman/testing'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { launchBrowser, openPage } from './chromium.js'

let browser: Browser
let agent: Served
beforeAll(async () => {
  browser = await launchBrowser()
  agent = await serve(echoAgent)
})
afterAll(async () => {
  await browser.close()
  await agent.close({ deadlineMs: 0 })
})

const talkTo = (url: string) => `${url}#/talk?with=${encodeURIComponent(agent.url)}`

it('a tab continues after another tab started a new session', async () => {
  await using served = await serveConsole({ agents: [agent.url] })
  await using opened = await openPage(browser, talkTo(served.url), { ignore: /409/ })
  const { page, complaints } = opened
  await page.getByLabel('Message').waitFor()
  // As after a restart that both tabs notice at once: both use the last cookie.
  await page.context().clearCookies()
  const other = await page.context().newPage()
  await other.goto(talkTo(served.url))
  await other.getByLabel('Message').waitFor()
  await page.getByLabel('Message').fill('chunks 3')
  await page.keyboard.press('Enter')
  await page.getByText('chunk 3').waitFor()
  // The message was sent once: the rejected request was not executed.
  await page.goto(`${served.url}#/tasks?agent=${encodeURIComponent(agent.url)}`)
  await page.getByText('1 task', { exact: false }).waitFor()
  expect(complaints).toEqual([])
})

it('all tabs continue after the server was restarted', async () => {
  const first = await serveConsole({ agents: [agent.url] })
  const lost = /Failed to load resource|net::ERR_|EventSource/
  await using opened = await openPage(browser, talkTo(first.url), { ignore: lost })
  const { page, complaints } = opened
  const tabs = [page, await page.context().newPage()]
  await tabs[1]?.goto(talkTo(first.url))
  for (const tab of tabs) await tab.getByLabel('Message').waitFor()
  await first.close()
  for (const tab of tabs) await tab.getByText('Not connected').waitFor()
  await using _second = await serveConsole({ agents: [agent.url], port: Number(new URL(first.url).port) })
  for (const tab of tabs) {
    await tab.getByText('Not connected').waitFor({ state: 'detached' })
    await tab.getByLabel('Message').fill('chunks 3')
    await tab.keyboard.press('Enter')
    await tab.getByText('chunk 3').waitFor()
  }
  expect(complaints).toEqual([])
})

it('tabs keep separate conversations', async () => {
  await using served = await serveConsole({ agents: [agent.url] })
  await using opened = await openPage(browser, talkTo(served.url))
  const { page, complaints } = opened
  await page.getByLabel('Message').waitFor()
  const other = await page.context().newPage()
  await other.goto(talkTo(served.url))
  await other.getByLabel('Message').waitFor()
  for (const [tab, text] of [
    [page, 'msg in the first tab'],
    [other, 'msg in the second tab'],
  ] as const) {
    await tab.getByLabel('Message').first().fill(text)
    await tab.getByLabel('Message').first().press('Enter')
    await tab.locator('.heard', { hasText: text.slice(4) }).waitFor()
  }
  await page.reload()
  for (const text of ['in the first tab', 'in the second tab'])
    await page.locator('.heard', { hasText: text }).waitFor()
  expect(complaints).toEqual([])
})

it('agents that do not answer do not block requests to others', async () => {
  const sockets = new Set<Socket>()
  let givenUp = 0
  const mute = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .on('close', () => {
        givenUp += 1
      })
    sockets.add(socket)
  })
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
  const { port } = mute.address() as { port: number } // it listens
  const dead = [1, 2, 3].map((each) => `http://127.0.0.1:${port}/${each}`)
  await using served = await serveConsole({ agents: [...dead, agent.url] })
  await using opened = await openPage(browser, served.url)
  const { page, complaints } = opened
  await page.locator('.agent-list a').nth(3).click()
  await page.getByRole('link', { name: 'Talk to this agent' }).waitFor()
  expect([sockets.size, givenUp]).toEqual([3, 0])
  expect(complaints).toEqual([])
  for (const socket of sockets) socket.destroy()
  mute.close()
})
