/** Streams of a browser over HTTP/2: more than the six connections that it opens to one origin. */
import { serve } from 'dragoman'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { echoAgent } from '../../src/testing/echo-agent.js'
import { certificate, key } from '../matrix/certificate.js'
import { launchBrowser, openPage } from './chromium.js'

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser.close())

it('a page holds more than six streams of one origin at the same time', async () => {
  await using served = await serve(echoAgent, { tls: { key, cert: certificate } })
  const card = `${served.url}.well-known/agent-card.json`
  await using opened = await openPage(browser, card, { ignoreHTTPSErrors: true })
  const open = await opened.page.evaluate(async () => {
    const parts = [{ text: 'sleep 60000' }]
    const body = JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', parts } })
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const firsts = Array.from({ length: 20 }, async () => {
      const { body: events } = await fetch('/message:stream', { method: 'POST', headers, body })
      return (await events?.getReader().read())?.done === false
    })
    // No stream has ended: the tasks take longer than the test.
    return await Promise.all(firsts)
  })
  expect(open).toEqual(Array.from({ length: 20 }, () => true))
})
