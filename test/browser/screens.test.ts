/** Every screen: accessibility, light and dark, two languages. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
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

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

async function faults(page: Page): Promise<string[]> {
  // Injected by the debugger, because the content security policy blocks scripts.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe)
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run(),
  )
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${impact} ${id}: ${html.slice(0, 200)} ${failureSummary ?? ''}`),
  )
}

const ref = () => encodeURIComponent(system.echo.url)

/** Each screen, with a selector that must be visible before the check. */
const places: readonly (readonly [name: string, path: () => string, sign: string])[] = [
  ['agents', () => '#/agents', '.agent-list'],
  ['an agent', () => `#/agents/${ref()}`, '.skill'],
  ['a card', () => `#/agents/${ref()}?tab=card`, '.tree'],
  ['the differences of cards', () => `#/agents/${ref()}?tab=diff`, '.table'],
  ['the access to an agent', () => `#/agents/${ref()}?tab=access`, 'form'],
  ['talk', () => `#/talk?with=${ref()}`, '.composer'],
  ['tasks', () => `#/tasks/${ref()}`, '.table, .notice h2'],
  ['the wire', () => '#/wire', '.call-list, .notice h2'],
  ['compare', () => `#/compare/${ref()}`, '.notice h2'],
  ['push', () => '#/push', '.notice h2'],
  ['the registry', () => '#/registry', '.found'],
  ['workflows', () => '#/workflows', '.notice h2, .table'],
  ['an unknown agent', () => '#/agents/http%3A%2F%2Fevil.example', '.notice h2'],
]

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  it('axe reports no violation on any screen, and the page logs no error', async () => {
    await using opened = await openPage(browser, system.console.url, { colorScheme, reducedMotion: 'reduce' })
    const { page, complaints } = opened
    const found: Record<string, string[]> = {}
    for (const [name, path, sign] of places) {
      await page.goto(`${system.console.url}${path()}`)
      await page.locator(sign).first().waitFor()
      const wrong = await faults(page)
      if (wrong.length > 0) found[name] = wrong
    }
    expect(found).toEqual({})
    expect(complaints).toEqual([])
  })

  it('axe reports no violation in a conversation, its task, its wire, a comparison and a run', async () => {
    await using opened = await openPage(browser, `${system.console.url}#/talk?with=${ref()}`, {
      colorScheme,
      reducedMotion: 'reduce',
    })
    const { page, complaints } = opened
    const found: Record<string, string[]> = {}
    const look = async (name: string) => {
      const wrong = await faults(page)
      if (wrong.length > 0) found[name] = wrong
    }
    await page.getByLabel('Message').fill('# Title\n\n| a | b |\n|---|---|\n| 1 | `2` |\n\n> quoted\n\n```\ncode\n```')
    await page.keyboard.press('Enter')
    await page.locator('.artifact h1').waitFor()
    await page.getByLabel('Message').fill('ask')
    await page.keyboard.press('Enter')
    await page.getByText('The agent asks').waitFor()
    await look('a conversation')
    await page.locator('.heard a').first().click()
    await page.locator('.event-row').first().waitFor()
    await look('a task')
    await page.getByRole('tab', { name: 'Wire' }).click()
    await page.locator('.call-list a').first().click()
    await page.locator('.wire-line').first().waitFor()
    await look('a call')
    await page.goto(`${system.console.url}#/compare/${ref()}`)
    await page.getByRole('button', { name: 'Send in each' }).click()
    await page.locator('.lines .new').first().waitFor()
    await look('a comparison')
    await page.goto(`${system.console.url}#/workflows`)
    await page.getByLabel('Topic').fill('Rivers')
    await page.keyboard.press('Enter')
    await page.getByLabel('Publish now').waitFor()
    await page.locator('.react-flow__node').first().waitFor()
    await look('a run')
    expect(found).toEqual({})
    expect(complaints).toEqual([])
  })
})

describe('every screen', () => {
  it('shows unknown pages as not found, with a link back', async () => {
    await using opened = await openPage(browser, `${system.console.url}#/nowhere`)
    const { page, complaints } = opened
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Agents' }).click()
    await page.locator('.agent-list a', { hasText: 'Echo' }).click()
    // The link back is for windows without the list.
    await page.getByRole('link', { name: 'Talk to this agent' }).waitFor()
    expect(await page.getByRole('link', { name: 'Back to the list' }).isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('It stays in the registry.').waitFor()
    expect(complaints).toEqual([])
  })

  it('shows the names of three agents in conversations side by side', async () => {
    await using opened = await openPage(browser, `${system.console.url}#/talk`)
    const { page, complaints } = opened
    for (let count = 1; count <= 3; count++) {
      await page.getByLabel('New conversation').selectOption(system.echo.url)
      await page
        .getByLabel('Message')
        .nth(count - 1)
        .fill('msg hi')
      await page
        .getByLabel('Message')
        .nth(count - 1)
        .press('Enter')
      await page
        .locator('.heard')
        .nth(count - 1)
        .waitFor()
    }
    expect(
      await page.evaluate(`[...document.querySelectorAll('.talk > header')].map((header) => {
      const [name, close] = [header.querySelector('.talk-name'), header.lastElementChild]
      const isOneLine = close.getBoundingClientRect().top < name.getBoundingClientRect().bottom
      return name.scrollWidth <= name.clientWidth && isOneLine
    })`),
    ).toEqual([true, true, true])
    expect(complaints).toEqual([])
  })

  it('lists an agent once that was added and is in the registry', async () => {
    await using opened = await openPage(browser, system.console.url)
    const { page, complaints } = opened
    await page.locator('.agent-list a', { hasText: 'Echo' }).getByText('in registry').waitFor()
    await page.locator('.agent-list strong', { hasText: 'Document' }).waitFor()
    expect((await page.locator('.agent-list strong').allTextContents()).toSorted()).toEqual(['Document', 'Echo'])
    expect(complaints).toEqual([])
  })

  it.each([
    ['talk', 'New conversation'],
    ['tasks', 'Agent'],
    ['compare', 'Agent'],
    ['push', 'Agent'],
    ['workflows', 'Agent'],
  ])('offers agents by their names: %s', async (screen, label) => {
    await using opened = await openPage(browser, `${system.console.url}#/${screen}`)
    const { page, complaints } = opened
    const options = page.getByLabel(label).locator('option')
    await options.filter({ hasText: screen === 'workflows' ? 'Document' : 'Echo' }).waitFor({ state: 'attached' })
    await expect.poll(async () => (await options.allTextContents()).filter((text) => text.includes('://'))).toEqual([])
    // By default an agent that streams is chosen.
    if (label === 'Agent') await page.locator(`select[title^="http"]`).waitFor()
    expect(complaints).toEqual([])
  })

  it('switches to Chinese, and stores the choice', async () => {
    await using opened = await openPage(browser, system.console.url)
    const { page } = opened
    await page.getByLabel('语言').selectOption('zh')
    await page.getByRole('heading', { name: '智能体', exact: true }).waitFor()
    expect(await page.getAttribute('html', 'lang')).toBe('zh')
    await page.reload()
    await page.getByRole('link', { name: '注册中心', exact: true }).waitFor()
  })

  it('is completely Chinese, also during a run', async () => {
    await using opened = await openPage(browser, `${system.console.url}#/workflows`, { locale: 'zh-CN' })
    const { page, complaints } = opened
    await page.getByPlaceholder('世界的河流').waitFor()
    await page.getByRole('button', { name: '世界的河流' }).click()
    await page.locator('.react-flow__node', { hasText: '已完成' }).first().waitFor()
    await page.getByRole('cell', { name: '等待回答' }).waitFor()
    const said = await page.evaluate<string>('document.body.innerText')
    for (const word of ['completed', 'running', 'asking', 'Wire', 'Result', 'Steps', ' ms'])
      expect(said, word).not.toContain(word)
    expect(complaints).toEqual([])
  })

  it('starts in the language of the browser', async () => {
    await using opened = await openPage(browser, system.console.url, { locale: 'zh-CN' })
    await opened.page.getByRole('link', { name: '对话', exact: true }).waitFor()
  })

  it('calls no agent because of a link', async () => {
    await using opened = await openPage(browser, `${system.console.url}#/agents/http%3A%2F%2Flocalhost%3A1`)
    const { page } = opened
    await page.getByText('Unknown agent').waitFor()
    expect(await page.locator('.agent-list a').count()).toBe(2)
  })

  it('works with the keyboard alone', async () => {
    await using opened = await openPage(browser, system.console.url)
    const { page } = opened
    await page.locator('.agent-list a', { hasText: 'Echo' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'Overview' }).focus()
    await page.keyboard.press('ArrowRight')
    await page.locator('.tree').waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Card')
    expect(new URL(page.url()).hash).toContain('tab=card')
  })
})
