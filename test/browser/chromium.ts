/** A real browser from npm. Its pages fail the test if they log an error. */
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

/** `CHROME_PATH`, else the browser from npm, unpacked into its own folder. */
async function executablePath(): Promise<string> {
  const given = process.env.CHROME_PATH
  if (given) return given
  // The package uses any binary in the temporary folder, and searches for it when it is loaded.
  const before = process.env.TMPDIR
  const folder = join(tmpdir(), 'dragoman-chromium-147.0.0')
  await mkdir(folder, { recursive: true })
  process.env.TMPDIR = folder
  try {
    const { default: packed } = await import('@sparticuz/chromium')
    return await packed.executablePath()
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}

export async function launchBrowser(): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--font-render-hinting=none']
  return await chromium.launch({ executablePath: await executablePath(), args, headless: true })
}

export interface WatchedPage extends AsyncDisposable {
  readonly page: Page
  /** The errors that the page logged. */
  readonly complaints: readonly string[]
}

const defaultView = { viewport: { width: 1280, height: 800 }, locale: 'en-GB' }

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions & { readonly ignore?: RegExp } = {},
): Promise<WatchedPage> {
  const { ignore, ...view } = options
  const context = await browser.newContext({ ...defaultView, ...view })
  context.setDefaultTimeout(60_000)
  await context.grantPermissions(['clipboard-read', 'clipboard-write']).catch(() => undefined) // not in every build
  const page = await context.newPage()
  const complaints: string[] = []
  const note = (text: string) => {
    if (!ignore?.test(text)) complaints.push(text)
  }
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') note(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => note(`thrown: ${error.message}`))
  await page.goto(url)
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() }
}
