/** What only a console sees that runs beside its server: deliveries that were given up. And one that is not for everybody. */
import { type ServedConsole, serveConsole } from 'dragoman/console'
import type { DeadDelivery } from 'dragoman/server'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launchBrowser, openPage } from './chromium.js'

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser.close())

const letter = (id: string) => ({ id, taskId: `task-${id}`, agent: 'Echo', deliveryId: id }) as unknown as DeadDelivery // as far as it is shown

describe('dead letters', () => {
  it('are sent once more: what arrives is gone, what does not stays and says why', async () => {
    const letters = new Map(['1', '2'].map((id) => [id, letter(id)]))
    const push = {
      deadLetters: async () => [...letters.values()],
      redeliver: async (id: string) => {
        if (id === '2') return { isDelivered: false as const, error: 'The address answers with HTTP 500' }
        letters.delete(id)
        return { isDelivered: true as const }
      },
    }
    await using served: ServedConsole = await serveConsole({ push })
    await using opened = await openPage(browser, `${served.url}#/push`)
    const { page, complaints } = opened
    const dead = page.getByRole('region', { name: 'Dead letters' })
    await dead.getByRole('button').nth(1).click()
    await dead.getByText('HTTP 500').waitFor()
    await dead.getByRole('button').first().click()
    await dead.getByText('task-1').waitFor({ state: 'detached' })
    expect(await dead.getByRole('button').count()).toBe(1)
    expect(complaints).toEqual([])
  })
})

describe('a console behind a token', () => {
  it('opens with the address that was printed, hides the token, and opens with no other', async () => {
    await using served = await serveConsole({ token: 'a token of this launch' })
    await using stranger = await openPage(browser, new URL(served.url).origin, { ignore: /401/ })
    await stranger.page.getByText('No session').waitFor()
    await using opened = await openPage(browser, served.url)
    await opened.page.getByText('No agents yet').waitFor()
    expect(opened.page.url()).not.toContain('token')
    await opened.page.reload()
    await opened.page.getByText('No agents yet').waitFor()
    expect(stranger.complaints).toEqual([])
    expect(opened.complaints).toEqual([])
  })
})
