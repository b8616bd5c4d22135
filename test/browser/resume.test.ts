/** Servers that crash during a stream, and closed tabs: running tasks continue. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../process/server-process.js'
import { type SystemProcess, startSystem } from '../process/system-process.js'
import { launchBrowser, openPage } from './chromium.js'
import { portOf, startConsole, startEcho } from './console-process.js'

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser.close())

/** Browsers log lost connections. */
const lostConnections = /Failed to load resource|net::ERR_|EventSource/

async function begin(page: Page, text: string): Promise<void> {
  await page.locator('.agent-list a', { hasText: 'Echo' }).click()
  await page.getByRole('link', { name: 'Talk to this agent' }).click()
  await page.getByLabel('Message').fill(text)
  await page.keyboard.press('Enter')
}

/** The system on fixed ports, so that it can be restarted. The writers are slow. */
async function startSomewhere(folder: string): Promise<[SystemProcess, again: () => Promise<SystemProcess>]> {
  for (let tries = 1; ; tries++) {
    const shift = 2000 + Math.floor(Math.random() * 20_000)
    const start = () => startSystem(folder, ['--ports', `+${shift}`], { DRAGOMAN_PACE_MS: '40' })
    try {
      return [await start(), start]
    } catch (error) {
      if (tries === 5) throw error
    }
  }
}

/** Every chunk once, in order. */
function allOf(count: number): string {
  return Array.from({ length: count }, (_, place) => `chunk ${place + 1}`).join(' ')
}

describe('a stream', () => {
  it('continues after the console’s server was killed and restarted, without loss or repetition', async () => {
    await using echo = await startEcho()
    await using first = await startConsole('--agent', echo.url)
    await using opened = await openPage(browser, first.url, { ignore: lostConnections })
    const { page, complaints } = opened
    await begin(page, 'chunks 60 100')
    await page.getByText('chunk 5').waitFor()
    await first.kill()
    await page.getByText('Not connected').waitFor()
    await using _second = await startConsole('--agent', echo.url, '--port', portOf(first.url))
    await page.getByText('completed').waitFor()
    await page.getByText('chunk 60').waitFor()
    const said = await page.locator('.artifact .markdown').textContent()
    expect(said?.trim()).toBe(allOf(60))
    expect(complaints).toEqual([])
  })

  it('continues after the agent was killed and restarted, and shows the outcome of the task', async () => {
    await using folder = await temporaryFolder()
    const store = ['--store', `sqlite:${folder.path}/tasks.sqlite`]
    await using first = await startEcho(...store)
    await using console = await startConsole('--agent', first.url)
    await using opened = await openPage(browser, console.url, { ignore: lostConnections })
    const { page, complaints } = opened
    await begin(page, 'chunks 500 50')
    await page.getByText('chunk 5').waitFor()
    await first.kill()
    await using _second = await startEcho(...store, '--port', portOf(first.url))
    // The echo agent does not retry after a crash: its task has failed, and the page shows that.
    await page.getByText('failed', { exact: true }).waitFor({ timeout: 60_000 })
    expect(await page.locator('.artifact .markdown').textContent()).toContain('chunk 5')
    expect(complaints).toEqual([])
  })

  it('of a run continues to its end after all processes of `npm start` were killed and restarted', async () => {
    await using folder = await temporaryFolder()
    const [first, startAgain] = await startSomewhere(folder.path)
    await using _first = first
    const home = /^Open (\S+)/m.exec(first.stdout)?.[1] ?? ''
    await using opened = await openPage(browser, `${home}#/workflows`, { ignore: lostConnections })
    const { page, complaints } = opened
    await page.getByLabel('Topic').fill('Jasmine tea')
    await page.keyboard.press('Enter')
    await page.locator('.react-flow__node', { hasText: 'document' }).waitFor()
    await first[Symbol.asyncDispose]()
    await page.getByText('Not connected').waitFor()
    await using _second = await startAgain()
    await page.getByText('Not connected').waitFor({ state: 'detached' })
    await page.locator('.screen-head').getByText('completed').waitFor()
    await page.locator('.react-flow__node', { hasText: 'summary' }).waitFor()
    expect(await page.locator('.artifact', { hasText: /jasmine/i }).count()).toBeGreaterThan(0)
    expect(complaints).toEqual([])
  })

  it('is restored after the tab was closed', async () => {
    await using echo = await startEcho()
    await using console = await startConsole('--agent', echo.url)
    await using opened = await openPage(browser, console.url)
    const { page, complaints } = opened
    await begin(page, 'chunks 60 50')
    await page.getByText('chunk 5').waitFor()
    const again = await page.context().newPage()
    await page.close()
    await again.goto(`${console.url}#/talk`)
    await again.locator('.said', { hasText: 'chunks 60 50' }).waitFor()
    await again.getByText('completed').waitFor()
    await again.getByText('chunk 60').waitFor()
    const said = await again.locator('.artifact .markdown').textContent()
    expect(said?.trim()).toBe(allOf(60))
    expect(complaints).toEqual([])
  })

  it('is restored together with answers without a task, in order', async () => {
    await using echo = await startEcho()
    await using console = await startConsole('--agent', echo.url)
    await using opened = await openPage(browser, console.url)
    const { page, complaints } = opened
    await begin(page, 'msg first answer')
    await page.locator('.heard', { hasText: 'first answer' }).waitFor()
    for (const text of ['chunks 3', 'msg second answer', 'auth']) {
      await page.getByLabel('Message').fill(text)
      await page.keyboard.press('Enter')
      await page.locator('.said', { hasText: text }).waitFor()
      await page
        .getByText({ 'chunks 3': 'chunk 3', auth: 'The agent needs a credential' }[text] ?? 'second answer')
        .last()
        .waitFor()
    }
    await page.getByLabel('Message').fill('a secret of mine')
    await page.keyboard.press('Enter')
    await page.locator('.said', { hasText: 'a secret of mine' }).waitFor()
    await page.getByText('completed').nth(1).waitFor()
    // The answer to a request for a credential is not stored.
    const kept = 'JSON.stringify(localStorage) + JSON.stringify(sessionStorage)'
    expect(await page.evaluate(kept)).not.toContain('secret')
    const shown = () => page.locator('.transcript .said, .transcript .heard .markdown').allInnerTexts()
    const before = (await shown()).filter((text) => !text.includes('secret'))
    await page.reload()
    await page.getByText('completed').nth(1).waitFor()
    expect((await shown()).filter((text) => !text.includes('secret'))).toEqual(before)
    expect(await page.evaluate(kept)).not.toContain('secret')
    // Nor in a browser that only views the task: the messages come from the agent.
    const task = /.*\\"task\\":\\"([^"\\]+)/.exec(await page.evaluate<string>(kept))?.[1] ?? ''
    await using other = await openPage(browser, `${console.url}#/talk?${new URLSearchParams({ with: echo.url, task })}`)
    for (const _visit of ['first', 'again']) {
      await other.page.locator('.said', { hasText: 'a secret of mine' }).waitFor()
      await other.page.getByText('completed').waitFor()
      expect(await other.page.locator('.said').allInnerTexts()).toEqual([
        expect.stringContaining('auth'),
        expect.stringContaining('a secret of mine'),
      ])
      expect(await other.page.evaluate<string>(kept)).toContain(task)
      expect(await other.page.evaluate(kept)).not.toContain('secret')
      await other.page.goto(`${console.url}#/talk`)
      await other.page.reload()
    }
    expect([...complaints, ...other.complaints]).toEqual([])
  })

  it('is not requested in a dialect without task calls: the stored task is shown', async () => {
    await using echo = await startEcho()
    await using console = await startConsole('--agent', echo.url)
    await using opened = await openPage(browser, `${console.url}#/talk?${new URLSearchParams({ with: echo.url })}`)
    const { page, complaints } = opened
    await page.getByLabel('Dialect and binding').selectOption('invoke')
    await page.getByLabel('Message').fill('chunks 3')
    await page.keyboard.press('Enter')
    await page.locator('.heard', { hasText: 'chunk 3' }).waitFor()
    const transcript = await page.locator('.transcript').textContent()
    await page.reload()
    await page.locator('.heard', { hasText: 'chunk 3' }).waitFor()
    await page.getByRole('link', { name: 'Echo' }).waitFor()
    expect(await page.locator('.transcript').textContent()).toBe(transcript)
    expect(await page.getByRole('button', { name: /Resume|Cancel task/ }).count()).toBe(0)
    expect(complaints).toEqual([])
  })

  it('keeps its questions, and can be canceled at each of them', async () => {
    await using echo = await startEcho()
    await using console = await startConsole('--agent', echo.url)
    await using opened = await openPage(browser, console.url)
    const { page, complaints } = opened
    await begin(page, 'ask')
    await page.locator('.question', { hasText: 'What is the second text?' }).waitFor()
    await page.reload()
    await page.locator('.question', { hasText: 'What is the second text?' }).waitFor()
    await page.getByRole('button', { name: 'Cancel task' }).waitFor()
    await page.getByLabel('Message').fill('blue')
    await page.keyboard.press('Enter')
    await page.getByText('completed').waitFor()
    const spoken = () =>
      page
        .locator('.transcript')
        .getByText(/^(ask|What is the second text\?|blue)$/)
        .allInnerTexts()
    expect(await spoken()).toEqual(['ask', 'What is the second text?', 'blue'])
    await page.reload()
    await page.getByText('completed').waitFor()
    expect(await spoken()).toEqual(['ask', 'What is the second text?', 'blue'])
    expect(await page.getByRole('button', { name: 'Cancel task' }).count()).toBe(0)
    expect(complaints).toEqual([])
  })

  it('that broke shows the error after a later one too, and can be resumed', async () => {
    await using first = await startEcho()
    await using console = await startConsole('--agent', first.url)
    await using opened = await openPage(browser, console.url, { ignore: lostConnections })
    const { page, complaints } = opened
    await begin(page, 'sleep 60000')
    await page.getByText('working').waitFor()
    await first.kill()
    await page.getByRole('button', { name: 'Stop retrying' }).click()
    await page.getByLabel('Message').fill('are you there?')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').nth(1).waitFor()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    expect(await page.getByRole('alert').first().textContent()).toMatch(/127\.0\.0\.1|localhost|listens|reach/i)
    expect(complaints).toEqual([])
  })

  it('shares one connection with all other streams of the page', async () => {
    await using echo = await startEcho()
    await using console = await startConsole('--agent', echo.url)
    await using opened = await openPage(browser, console.url)
    const { page, complaints } = opened
    await page.getByRole('link', { name: 'Talk', exact: true }).click()
    const boxes = page.getByLabel('Message')
    for (let count = 0; count < 8; count++) {
      await page.getByLabel('New conversation').selectOption(echo.url)
      await boxes.nth(count).waitFor()
    }
    for (let count = 0; count < 8; count++) {
      await boxes.nth(count).fill('sleep 60000')
      await boxes.nth(count).press('Enter')
    }
    await page.getByText('working').nth(7).waitFor()
    // Six HTTP/1.1 streams would leave no connection for this request.
    await page.getByRole('link', { name: 'Tasks', exact: true }).click()
    await page.getByLabel('Agent').selectOption(echo.url)
    await page.getByText('8 tasks').waitFor()
    expect(complaints).toEqual([])
  })
})
