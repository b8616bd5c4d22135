/** The built page and its files, read once and served from memory. */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

/** Allows only files of the console: no external or inline scripts, styles, fonts or images. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const safety = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

interface Stored {
  readonly type: string
  readonly bytes: Buffer<ArrayBuffer>
  /** Compressed at the first request. */
  packed?: Buffer<ArrayBuffer>
}

interface PageFiles {
  page(request: Request): Response
  /** A file by its name below `/console/assets/`. */
  file(name: string, request: Request): Response | undefined
}

/** The folder of the built page. Resolved by package name, because bundled files have other paths than their sources. */
function builtPageFolder(): string {
  return join(dirname(createRequire(import.meta.url).resolve('dragoman/package.json')), 'dist/console/page')
}

export function readPageFiles(folder: string = builtPageFolder()): PageFiles {
  const html = read(join(folder, 'index.html'))
  if (!html) {
    const missing = 'The console page is not built: run `npm run build`'
    return { page: () => new Response(missing, { status: 503 }), file: () => undefined }
  }
  const assets = join(folder, 'console/assets')
  const files = new Map(readdirSync(assets).flatMap((name) => [[name, read(join(assets, name))] as const]))
  return {
    page: (request) => answer(html, request, { ...safety, 'cache-control': 'no-cache' }),
    file(name, request) {
      const found = files.get(name)
      // File names contain a hash of the content.
      return found && answer(found, request, { ...safety, 'cache-control': 'public, max-age=31536000, immutable' })
    },
  }
}

function read(path: string): Stored | undefined {
  try {
    return { type: types[extname(path)] ?? 'application/octet-stream', bytes: Buffer.from(readFileSync(path)) }
  } catch {
    return undefined
  }
}

function answer(file: Stored, request: Request, headers: Readonly<Record<string, string>>): Response {
  const isPacked = /\bbr\b/.test(request.headers.get('accept-encoding') ?? '')
  if (isPacked) file.packed ??= brotli(file.bytes)
  const bytes = (isPacked && file.packed) || file.bytes
  return new Response(request.method === 'HEAD' ? null : bytes, {
    headers: {
      ...headers,
      'content-type': file.type,
      vary: 'accept-encoding',
      ...(isPacked && { 'content-encoding': 'br' }),
    },
  })
}

function brotli(bytes: Buffer): Buffer<ArrayBuffer> {
  return Buffer.from(brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }))
}
