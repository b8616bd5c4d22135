/** Logins to the console and credentials for agents, in a real browser, with a real OpenID provider. */
import { apiKey, basic, oidc, type Served, serve } from 'dragoman'
import { type ServedConsole, serveConsole } from 'dragoman/console'
import { echoAgent } from 'dragoman/testing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { audience, type OpenIdProvider, openIdProvider } from '../auth/openid-provider.js'
import { launchBrowser, openPage } from './chromium.js'

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser.close())

/** Browsers log every refused request. */
const refusals = /40[13]/
/** All storage of a page, except cookies that scripts cannot read. */
const kept = 'JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.cookie + location.href'

const say = async (page: Page, ref: string, text: string) => {
  await page.goto(`${new URL(page.url()).origin}/#/talk?with=${encodeURIComponent(ref)}`)
  await page.getByLabel('Message').fill(text)
  await page.keyboard.press('Enter')
  await page.locator('.artifact', { hasText: text }).waitFor()
}

describe('a console with authentication', () => {
  it('asks for a key or a password, opens a session, and ends it', async () => {
    await using served = await serveConsole({ auth: [apiKey('open sesame'), basic({ alice: 'correct horse' })] })
    await using opened = await openPage(browser, served.url, { ignore: refusals })
    const { page, complaints } = opened
    await page.getByLabel('Key', { exact: true }).fill('a wrong one')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('Missing or invalid credentials').waitFor()
    await page.getByLabel('Method').selectOption('User and password')
    await page.getByLabel('User', { exact: true }).fill('alice')
    await page.getByLabel('Password', { exact: true }).fill('correct horse')
    await page.keyboard.press('Enter')
    await page.getByText('No agents yet').waitFor()
    expect(await page.evaluate<string>(kept)).not.toMatch(/correct|alice/)
    await page.reload()
    await page.getByText('No agents yet').waitFor()
    // Two tabs: after one logs out, neither leaves data for the next user.
    const agent = await serve(echoAgent)
    await page.evaluate(`fetch('/console/api/agents', { method: 'POST', headers: { 'x-dragoman-console': '1' },
      body: ${JSON.stringify(JSON.stringify({ ref: agent.url }))} })`)
    await page.locator('.agent-list a', { hasText: 'Echo' }).waitFor()
    await say(page, agent.url, 'what I said')
    const other = await page.context().newPage()
    await other.goto(`${served.url}#/talk`)
    await other.locator('.said', { hasText: 'what I said' }).waitFor()
    expect(await page.evaluate(kept)).toContain('what I said')
    await page.getByRole('button', { name: 'Log out' }).click()
    for (const each of [page, other]) {
      await each.getByLabel('Key', { exact: true }).waitFor()
      expect(await each.evaluate(kept)).not.toMatch(/what I said|dragoman\.(agents|conversation)/)
    }
    await agent.close({ deadlineMs: 0 })
    expect(complaints).toEqual([])
  })

  it('opens with the printed address, hides the token, and rejects other tokens', async () => {
    await using served = await serveConsole({ token: 'a token of this launch' })
    await using withoutToken = await openPage(browser, new URL(served.url).origin, { ignore: /401/ })
    await withoutToken.page.getByText('No session').waitFor()
    await using opened = await openPage(browser, served.url)
    await opened.page.getByText('No agents yet').waitFor()
    expect(opened.page.url()).not.toContain('token')
    await opened.page.reload()
    await opened.page.getByText('No agents yet').waitFor()
    expect(withoutToken.complaints).toEqual([])
    expect(opened.complaints).toEqual([])
  })

  it('asks again after a restart, and continues on the same page', async () => {
    const auth = [apiKey('open sesame')]
    const first = await serveConsole({ auth })
    await using opened = await openPage(browser, first.url, { ignore: /40[13]|ERR_|EventSource/ })
    const { page, complaints } = opened
    const enter = async () => {
      await page.getByLabel('Key', { exact: true }).fill('open sesame')
      await page.keyboard.press('Enter')
    }
    await enter()
    await page.getByText('No agents yet').waitFor()
    await first.close()
    await page.getByText('Not connected').waitFor()
    await using _second = await serveConsole({ auth, port: Number(new URL(first.url).port) })
    await enter()
    await page.getByText('No agents yet').waitFor()
    await page.getByText('Not connected').waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })
})

describe('an agent that requires a login', () => {
  let provider: OpenIdProvider
  let agent: Served
  let served: ServedConsole
  beforeAll(async () => {
    // The provider logs that it is not a production system.
    for (const level of ['info', 'warn'] as const) vi.spyOn(console, level).mockImplementation(() => undefined)
    served = await serveConsole()
    provider = await openIdProvider({ redirectUris: [`${new URL(served.url).origin}/console/oauth/callback`] })
    agent = await serve(echoAgent, { auth: [oidc(provider.issuer, { audience })] })
  })
  afterAll(async () => {
    await served.close()
    await agent.close({ deadlineMs: 0 })
    await provider[Symbol.asyncDispose]()
  })

  it('is called with a token from its provider after a login in this browser (R-SEC-2)', async () => {
    // The provider's pages request remote fonts.
    await using opened = await openPage(browser, served.url, { ignore: /net::ERR_/ })
    const { page, complaints } = opened
    await page.getByLabel('Address of an agent or its card').fill(agent.url)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('tab', { name: 'Access' }).click()
    const form = page.getByRole('form', { name: 'oidc' })
    await form.getByLabel('Client id').fill('web')
    await form.getByLabel('Flow').selectOption('in the browser')
    await form.getByLabel('Scopes').fill('openid')
    await form.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: `Log in at ${new URL(provider.issuer).host}` }).click()
    // The provider's own pages, on another site than the console.
    await page.locator('input[name=login]').fill('alice')
    await page.locator('input[name=password]').fill('anything')
    await page.locator('button[type=submit]').click()
    await page.locator('button[type=submit]', { hasText: 'Continue' }).click()
    await page.getByText('The agent accepts the credential.').waitFor()
    expect(page.url()).toContain('#/agents/')
    await say(page, agent.url, 'said by alice')
    const sentToPage = await page.evaluate<string>(`
      Promise.all(['agents', 'calls'].map((path) =>
        fetch('/console/api/' + path, { headers: { 'x-dragoman-console': '1' } }).then((each) => each.text()))).then(String)
    `)
    expect(sentToPage + (await page.evaluate<string>(kept)) + (await page.content())).not.toMatch(/eyJ|code=/)
    expect(complaints).toEqual([])
  })
})
