/**
 * `npm start` in a browser: agents, conversations, tasks, requests and responses, dialects, the document workflow,
 * deliveries and the registry.
 */
import { execFile } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { connect } from 'dragoman/client'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TemporaryFolder, temporaryFolder } from '../process/server-process.js'
import { type SystemProcess, startSystem } from '../process/system-process.js'
import { launchBrowser, openPage, type WatchedPage } from './chromium.js'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))

let browser: Browser
let folder: TemporaryFolder
let system: SystemProcess
let home: string

beforeAll(async () => {
  folder = await temporaryFolder()
  // The writers are slow, so that the test can watch them.
  const starting = startSystem(folder.path, ['--ports', 'auto'], { DRAGOMAN_PACE_MS: '300' })
  ;[browser, system] = await Promise.all([launchBrowser(), starting])
  home = /^Open (\S+)/m.exec(system.stdout)?.[1] ?? ''
})
afterAll(async () => {
  await browser.close()
  await system[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

/** Opens the page, and fails the test if the page logs an error. */
async function visit(work: (page: Page) => Promise<void>, opening: Promise<WatchedPage> = openPage(browser, home)) {
  await using opened = await opening
  await work(opened.page)
  expect(opened.complaints).toEqual([])
}

async function choose(page: Page, agent: string): Promise<void> {
  await page
    .getByRole('link', { name: new RegExp(agent) })
    .first()
    .click()
}

async function talkTo(page: Page, agent: string): Promise<void> {
  await choose(page, agent)
  await page.getByRole('link', { name: 'Talk to this agent' }).click()
  await page.getByLabel('Message').waitFor()
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text)
  await page.keyboard.press('Enter')
}

async function copied(page: Page, button: string): Promise<string> {
  await page.getByRole('button', { name: button }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  return await page.evaluate<string>('navigator.clipboard.readText()')
}

const everybody = [
  'Echo',
  'OutlineAgent',
  'DocAgent',
  'SummaryAgent',
  'OrderAgent',
  'TravelAgent',
  'ImageAgent',
  'ChatAgent',
  'DocumentWorkflow',
]

describe('agents', () => {
  it('are listed, with valid cards, and healthy on three levels', async () => {
    await visit(async (page) => {
      for (const name of everybody) {
        await choose(page, name)
        const shown = page.getByRole('region', { name, exact: true })
        await shown.getByText('valid', { exact: true }).waitFor()
      }
      await choose(page, 'Echo')
      await page.getByLabel('Also make a real call, with').first().check()
      await page.getByRole('button', { name: 'Check now' }).click()
      await page.getByText('Real call', { exact: true }).waitFor()
      expect(await page.locator('.levels .badge.bad').count()).toBe(0)
      expect(await page.locator('.levels li').count()).toBeGreaterThan(4)
    })
  })

  it('are added by address, and their credentials are not in the page', async () => {
    await visit(async (page) => {
      await page
        .getByLabel('Address of an agent or its card')
        .fill(`${system.urlOf('Echo')}/.well-known/agent-card.json`)
      await page.getByRole('button', { name: 'Add', exact: true }).click()
      await page.getByRole('tab', { name: 'Access' }).click()
      await page.getByRole('combobox', { name: 'Credential' }).selectOption('bearer')
      await page.getByLabel('Token').fill('very secret')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('A credential is set.').waitFor()
      expect(await page.evaluate('JSON.stringify(localStorage) + document.cookie')).not.toContain('secret')
    })
  })
})

describe('talking', () => {
  it('streams an answer, shows Markdown as elements, and answers a question within one task', async () => {
    await visit(async (page) => {
      await talkTo(page, 'Echo')
      await say(page, 'chunks 20 5')
      await page.getByText('chunk 19 chunk 20').waitFor()
      await say(page, '## Title\n\n- one\n- **two**\n\n<img src=x onerror=alert(1)>')
      await page.locator('.artifact h2', { hasText: 'Title' }).waitFor()
      expect(await page.locator('.artifact li strong').textContent()).toBe('two')
      expect(await page.locator('.artifact img').count()).toBe(0)
    })
    await visit(async (page) => {
      await talkTo(page, 'TravelAgent')
      await say(page, 'Book a flight')
      await page.getByText('The agent asks').waitFor()
      await say(page, 'Helsinki')
      await page.locator('.artifact', { hasText: 'Your flight to Helsinki is booked' }).waitFor()
      expect(await page.locator('.heard a', { hasText: 'task' }).count()).toBe(1)
    })
  })

  it('uses the chosen dialect and binding, gRPC included', async () => {
    await visit(async (page) => {
      await talkTo(page, 'Echo')
      for (const way of ['v1 GRPC', 'v0.3 HTTP+JSON', 'v0.1']) {
        await page.getByLabel('Dialect and binding').selectOption(way)
        await say(page, `said in ${way.replace('+', ' ')}`)
        await page.locator('.artifact', { hasText: `said in ${way.replace('+', ' ')}` }).waitFor()
      }
      await page.getByRole('link', { name: 'Wire' }).click()
      const bindings = page.locator('.call-list .badge', { hasText: /GRPC|HTTP\+JSON/ })
      await bindings.nth(1).waitFor()
    })
  })

  it('sends files and data, and shows files, data and images in answers', async () => {
    await visit(async (page) => {
      await talkTo(page, 'Echo')
      await say(page, 'file')
      await page.getByText('fox.txt').waitFor()
      const downloading = page.waitForEvent('download')
      await page.getByRole('link', { name: 'Download' }).click()
      expect((await downloading).suggestedFilename()).toBe('fox.txt')
      await say(page, 'data')
      await page.locator('.tree', { hasText: 'answer' }).getByText('42').waitFor()
      await page
        .locator('input[type=file]')
        .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') })
      await page.getByText('a.txt').waitFor()
      await page.getByRole('button', { name: 'Send', exact: true }).click()
      await page.locator('.said', { hasText: 'a.txt' }).waitFor()
      await page.getByLabel('Send as data').check()
      await say(page, '{"wanted": "a tree"}')
      await page.locator('.said .tree', { hasText: 'a tree' }).waitFor()
    })
    await visit(async (page) => {
      await talkTo(page, 'ImageAgent')
      await say(page, 'Generate an image of a sailboat on the ocean.')
      await page.locator('.artifact img').waitFor()
      const width =
        '(({ src }, image = new Image()) => { image.src = src; return image.decode().then(() => image.width) })'
      expect(await page.evaluate(`${width}(document.querySelector('.artifact img'))`)).toBeGreaterThan(50)
    })
  })

  it('cancels a running task', async () => {
    await visit(async (page) => {
      await talkTo(page, 'Echo')
      await say(page, 'sleep 60000')
      await page.getByText('working').waitFor()
      await page.getByRole('button', { name: 'Cancel task' }).click()
      await page.getByText('canceled').waitFor()
    })
  })
})

describe('tasks and their wire', () => {
  it('lists tasks by state and shows one event by event, each with its own URL', async () => {
    await visit(async (page) => {
      await talkTo(page, 'Echo')
      for (const text of ['chunks 4', 'fail']) await say(page, text)
      await page.getByText('failed', { exact: true }).waitFor()
      await choose(page, 'Agents')
      await choose(page, 'Echo')
      await page.getByRole('link', { name: 'Tasks of this agent' }).click()
      await page.getByLabel('State').selectOption('TASK_STATE_FAILED')
      await page.getByText('1 task', { exact: true }).waitFor()
      await page.getByLabel('State').selectOption('TASK_STATE_COMPLETED')
      await page.getByText('1 task', { exact: true }).waitFor({ state: 'detached' })
      await page.locator('tbody a').first().click()
      await page.locator('.event-row', { hasText: 'chunk 4' }).waitFor()
      await page.getByLabel('Point in the log').fill('4')
      await page.getByText('chunk 1 chunk 2').waitFor()
      expect(await page.locator('.artifact').textContent()).not.toContain('chunk 3')
      const address = page.url()
      expect(address).toMatch(/event=\d+/)
      await page.goto('about:blank')
      await page.goto(address)
      await page.getByText('4 of').waitFor()
    })
  })

  it('shows every request and response, and copies it as a command that runs', async () => {
    await visit(async (page) => {
      await talkTo(page, 'Echo')
      await say(page, "it's here")
      await page.locator('.artifact', { hasText: "it's here" }).waitFor()
      await page.getByRole('link', { name: 'Wire' }).click()
      await page.locator('.call-list a').first().click()
      await page.locator('.wire-line', { hasText: 'SendStreamingMessage' }).waitFor()
      const { stdout } = await run('sh', ['-c', await copied(page, 'Copy as curl')])
      expect(stdout).toContain('TASK_STATE_COMPLETED')
      expect(stdout).toContain("it's here")
      await page.getByRole('button', { name: 'Copied' }).waitFor({ state: 'detached' })
      const program = await copied(page, 'Copy as TypeScript')
      expect((await runProgram(program)).stdout).toMatch(/it's here.*\n.*TASK_STATE_COMPLETED/)
    })
  })
})

/** In another folder, with the package installed as by npm. */
async function runProgram(program: string): Promise<{ readonly stdout: string }> {
  await mkdir(join(folder.path, 'node_modules'), { recursive: true })
  await symlink(root, join(folder.path, 'node_modules/dragoman'), 'dir')
  const file = join(folder.path, 'copied.mjs')
  await writeFile(file, program)
  return await run(process.execPath, [file])
}

describe('one message in every dialect', () => {
  it('is sent, and differences are marked', async () => {
    await visit(async (page) => {
      await choose(page, 'Echo')
      await page.getByRole('link', { name: 'Compare dialects' }).click()
      for (const way of ['v0.1', 'invoke']) await page.getByLabel(way, { exact: true }).check()
      await page.getByRole('button', { name: 'Send in each' }).click()
      const column = (name: string) => page.getByRole('article', { name, exact: true })
      await column('v1 JSONRPC').getByText('"method": "SendMessage"').waitFor()
      await column('v0.3 JSONRPC').locator('.new', { hasText: '"method": "message/send"' }).waitFor()
      await column('v0.1').locator('.new', { hasText: '"method": "tasks/send"' }).waitFor()
      await column('invoke').locator('.new', { hasText: '/invoke' }).first().waitFor()
      await column('v1 GRPC').getByText('SendMessage').first().waitFor()
    })
  })
})

describe('push notifications', () => {
  it('arrive at the console after its registration', async () => {
    await visit(async (page) => {
      await choose(page, 'Push')
      await page.getByRole('combobox', { name: 'Agent' }).selectOption(`${system.urlOf('Echo')}/`)
      await page.getByRole('button', { name: 'Start a task that reports here' }).click()
      await page.getByRole('region', { name: 'Deliveries' }).getByText('completed').waitFor()
      await page.getByText('Registered webhooks').waitFor()
      await page.getByRole('button', { name: 'Remove' }).click()
      await page.getByText('No webhook is registered').waitFor()
    })
  })

  it('that a webhook rejected are dead letters, and arrive when they are sent again', async () => {
    const taken: string[] = []
    let isBroken = true
    const webhook = createServer((request, response) => {
      let body = ''
      request.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      request.on('end', () => {
        if (!isBroken) taken.push(body)
        response.writeHead(isBroken ? 410 : 200).end()
      })
    })
    await new Promise<void>((resolve) => webhook.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(webhook.address() as AddressInfo).port}/`
    const agent = await connect(system.urlOf('Echo'))
    const made = await agent.sendMessage({
      message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'once more, please' }] },
      configuration: { taskPushNotificationConfig: { url } },
    })
    await agent.close()
    const id = 'task' in made ? made.task.id : ''
    await visit(async (page) => {
      await choose(page, 'Push')
      const dead = page.getByRole('region', { name: 'Dead letters' })
      const letters = dead.locator('.row', { hasText: id.slice(-8) })
      await letters.first().waitFor()
      await letters.first().getByRole('button').click()
      await dead.getByText('410').waitFor()
      isBroken = false
      for (let left = await letters.count(); left > 0; left--) {
        await letters.first().getByRole('button').click()
        await letters.nth(left - 1).waitFor({ state: 'detached' })
      }
      expect(taken.join()).toContain('once more, please')
    })
    webhook.close()
  })
})

describe('the registry', () => {
  it('is searched, offers agents, publishes one by address, and shows the change live', async () => {
    await visit(async (page) => {
      await choose(page, 'Registry')
      await page.getByLabel('Search').fill('机票')
      await page.locator('.found', { hasText: 'TravelAgent' }).getByText('match').waitFor()
      await page.getByLabel('Search').fill('repeats')
      await page.locator('.found', { hasText: 'Echo' }).getByText('match').waitFor()
      await page.getByLabel('Address of an agent or its card').fill(system.urlOf('Echo'))
      await page.getByLabel('Name', { exact: true }).fill('second-echo')
      await page.getByRole('button', { name: 'Publish an agent' }).click()
      await page.getByText('Published', { exact: true }).waitFor()
      await page.getByRole('region', { name: 'Live' }).getByText('public/second-echo').first().waitFor()
      // A known address is not added again.
      await page.locator('.found', { hasText: 'second-echo' }).getByRole('link', { name: 'Open' }).click()
      await page.getByRole('link', { name: 'Talk to this agent' }).click()
      await say(page, 'found by name')
      await page.locator('.artifact', { hasText: 'found by name' }).waitFor()
    })
  })
})

describe('the document workflow', () => {
  const start = async (page: Page, topic: string) => {
    await choose(page, 'Workflows')
    await page.getByLabel('Topic').fill(topic)
    await page.keyboard.press('Enter')
  }

  it('runs with a topic: the graph, the task of a step, the document, and the run in the list of past runs', async () => {
    await visit(async (page) => {
      await start(page, 'Jasmine tea')
      await page.locator('.react-flow__node', { hasText: 'summary' }).waitFor()
      await page.getByText('completed', { exact: true }).first().waitFor()
      await page
        .getByText(/jasmine tea/i)
        .first()
        .waitFor()
      await page.locator('.react-flow__node', { hasText: 'document' }).click()
      await page.getByRole('link', { name: 'Open the task of this step' }).click()
      await page.locator('.event-row').first().waitFor()
      await page.getByRole('link', { name: 'Workflows', exact: true }).click()
      await page.getByRole('link', { name: 'Jasmine tea' }).click()
      await page.locator('.react-flow__node', { hasText: 'summary' }).waitFor()
    })
  })

  it('is canceled with all its steps', async () => {
    await visit(async (page) => {
      await start(page, 'A very long history of tea')
      const steps = page.getByRole('region', { name: 'Steps' })
      await steps.locator('tr', { hasText: /document.*running/ }).waitFor()
      await page.getByRole('button', { name: 'Cancel the run' }).click()
      await page.locator('.screen-head').getByText('canceled').waitFor()
      await steps.locator('tr', { hasText: /document.*canceled/ }).waitFor()
      await page.goto(`${home}#/tasks/${encodeURIComponent(`${system.urlOf('DocAgent')}/`)}`)
      await page.getByLabel('State').selectOption('TASK_STATE_CANCELED')
      await page.getByText('1 task', { exact: true }).waitFor()
    })
  })
})
