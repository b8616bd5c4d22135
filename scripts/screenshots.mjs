// Writes docs/images/console-*.png: the main screens of the console, light and dark, with running agents.
// Run: npm run build && node scripts/screenshots.mjs
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const root = fileURLToPath(new URL('..', import.meta.url))
const images = join(root, 'docs/images')
const folder = mkdtempSync(join(tmpdir(), 'dragoman-screenshots-'))
const started = []

function start(...args) {
  const child = spawn(process.execPath, [join(root, 'bin/dragoman.js'), ...args], {
    env: { ...process.env, NO_COLOR: '1' },
  })
  started.push(child)
  return new Promise((resolve, reject) => {
    let said = ''
    child.stderr.pipe(process.stderr)
    child.once('exit', (code) => reject(new Error(`dragoman ${args.join(' ')} ended with ${code}`)))
    child.stdout.on('data', (text) => {
      said += text
      const url = / is ready at (https?:[^\s"]+)/.exec(said)?.[1]
      if (url) resolve(url)
    })
  })
}

async function executablePath() {
  if (process.env.CHROME_PATH) return process.env.CHROME_PATH
  // Chromium is unpacked into the temporary folder, and an existing binary there is used.
  process.env.TMPDIR = join(tmpdir(), 'dragoman-chromium-147.0.0')
  mkdirSync(process.env.TMPDIR, { recursive: true })
  const { default: packed } = await import('@sparticuz/chromium')
  return await packed.executablePath()
}

const document = `# Rivers of the world

A river begins small: a spring, a glacier, a lake that overflows. What it becomes depends on what joins it.

## Sources

- **Rain** feeds most rivers, and makes them rise within hours.
- **Snow and ice** keep water for the summer.

## Deltas and cities

| River | Delta | City at its mouth |
|---|---|---|
| Nile | Rosetta and Damietta | Alexandria |
| Yangtze | Yangtze delta | Shanghai |
`

const workflow = (echo) => `
import { connectAgents } from ${JSON.stringify(new URL('../dist/client/index.js', import.meta.url).href)}
import { workflow } from ${JSON.stringify(new URL('../dist/orchestrator/index.js', import.meta.url).href)}
export const agent = workflow('Document', async (flow) => {
  const outline = await flow.step('outline', { agent: 'Echo', message: '# Outline: ' + flow.text })
  const chapters = await Promise.all(['sources', 'delta', 'cities'].map((name, place) =>
    flow.step(name, { agent: 'Echo', message: 'chunks ' + (6 + 4 * place) + ' 40', after: [outline] })))
  const review = await flow.step('review', { agent: 'Echo', message: 'sleep 300', after: chapters })
  await flow.ask('approval', 'Publish the document?', {
    schema: { type: 'object', required: ['publish'], properties: {
      publish: { type: 'string', title: 'Publish', enum: ['yes', 'not yet'] } } } })
  await flow.step('print', { agent: 'Echo', message: 'printed', after: [review] })
  return ${JSON.stringify(document)}
}, { resolve: connectAgents({ Echo: ${JSON.stringify(echo)} }) })
`

/** The screens, each with the element to wait for. */
const shots = {
  async agents(page, { go, echo }) {
    await go(`agents/${echo}`)
    await page.getByRole('button', { name: 'Check now' }).click()
    await page.locator('.levels li').nth(6).waitFor()
  },
  async task(page, { go, echo }) {
    await go(`talk?with=${echo}`)
    await say(page, 'chunks 24 20')
    await page.getByText('chunk 24').waitFor()
    await page.locator('.heard a', { hasText: 'task' }).last().click()
    await page.getByLabel('Point in the log').fill('12')
    await page.getByText('12 of').waitFor()
  },
  async talk(page, { go, echo }) {
    await go(`talk?with=${echo}`)
    await say(
      page,
      '## Rivers\n\nA **river** is fed by:\n\n- rain\n- melting snow\n\n```ts\nconst flow = area * speed\n```',
    )
    await page.locator('.artifact pre').waitFor()
    await say(page, 'data')
    await page.locator('.tree').waitFor()
    await say(page, 'ask')
    await page.getByText('The agent asks').waitFor()
  },
  async wire(page, { go }) {
    await go('wire')
    await page.locator('.call-list a', { hasText: 'sendStreamingMessage' }).first().click()
    await page.locator('.wire-line').nth(2).waitFor()
  },
  async compare(page, { go, echo }) {
    await go(`compare/${echo}`)
    await page.getByRole('button', { name: 'Send in each' }).click()
    await page.locator('.lines .new').nth(3).waitFor()
  },
  async workflow(page, { go }) {
    await go('workflows')
    await page.getByLabel('Topic').fill('Rivers of the world')
    await page.keyboard.press('Enter')
    await page.getByLabel('Publish').selectOption({ label: 'yes' })
    await page.getByRole('button', { name: 'Answer' }).click()
    await page.locator('.document table').waitFor()
    await page.locator('.react-flow__node').nth(6).waitFor()
  },
}

async function say(page, text) {
  await page.getByLabel('Message').fill(text)
  await page.keyboard.press('Enter')
}

mkdirSync(images, { recursive: true })
const browser = await chromium.launch({
  executablePath: await executablePath(),
  args: ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none'],
})
try {
  const echo = await start('serve', '--echo', '--port', '0', '--dialects', 'all')
  writeFileSync(join(folder, 'workflow.mjs'), workflow(echo))
  const flow = await start('serve', join(folder, 'workflow.mjs'), '--port', '0')
  const url = await start('console', '--port', '0', '--agent', echo, '--workflow', flow)
  for (const colorScheme of ['light', 'dark']) {
    const context = await browser.newContext({
      viewport: { width: 1080, height: 680 },
      colorScheme,
      locale: 'en-GB',
      reducedMotion: 'reduce',
    })
    const page = await context.newPage()
    const go = async (path) => {
      await page.goto('about:blank')
      await page.goto(`${url}#/${path}`)
    }
    for (const [name, show] of Object.entries(shots)) {
      await show(page, { go, echo: encodeURIComponent(echo) })
      await page.mouse.move(0, 0)
      await page.screenshot({ path: join(images, `console-${name}-${colorScheme}.png`) })
      console.log(`console-${name}-${colorScheme}.png`)
    }
    await context.close()
  }
} finally {
  await browser.close()
  for (const child of started) child.kill()
  rmSync(folder, { recursive: true, force: true })
}
process.exit()
