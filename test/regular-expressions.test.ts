/** All regular expressions of the product take linear time, because texts of peers can be long. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isSafePattern } from 'redos-detector'
import { parseAst } from 'vite'
import { describe, expect, it } from 'vitest'

/**
 * Reported by the detector, which is stricter than necessary, but linear: `recheck` 4.5 proves it. Check an expression
 * there before adding it: https://makenowjust-labs.github.io/recheck/playground/
 */
const provedLinear: ReadonlySet<string> = new Set([
  String.raw`/^(\S+)\s*([\s\S]*)$/`,
  String.raw`/\bmax-age\s*=\s*"?(\d{1,10})/`,
  String.raw`/\d[Tt][\d:.]+$/`,
  String.raw`/(:\/\/[^\s/:@]*):[^\s/]+@/g`,
  String.raw`/\b(Bearer|Basic)\s+[\w~+/.=-]{6,}/gi`,
  String.raw`/([?&](?:[\w-]*(?:key|token|secret|passw(?:or)?d|signature))=)[^&\s"']+/gi`,
  String.raw`/([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y`,
  String.raw`/^(.+):(\d+)$/`,
  String.raw`/^(localhost|[^/]*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?([/?#]|$)/i`,
  String.raw`/\b(Bearer|Basic) [\w+/=.~-]{16,}/i`,
  String.raw`/^\s*([\w.]+)\s*(?:=|>|>=)\s*(?:'([^']*)'|"[^"]*"|\S+)\s*$/`,
  String.raw`/^"|"\s*$/g`,
  String.raw`/:\d+$/`,
  String.raw`/\{(\w+)\}/g`,
  String.raw`/"text":\s*("(?:[^"\\]|\\.)*")/`,
  String.raw`/\d{4}-\d\d-\d\dT[\d:.]+Z/g`,
  // By itself: the lookbehind lets it begin once in each run of its characters.
  String.raw`/(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/`,
])

interface Literal {
  readonly file: string
  readonly pattern: string
  readonly flags: string
}

const isProduct = (file: string) => /\.tsx?$/.test(file) && !/\.(test|test-d|fixture|contract)\.tsx?$/.test(file)

function literals(): readonly Literal[] {
  const found: Literal[] = []
  for (const folder of ['src', 'console/src']) {
    const root = fileURLToPath(new URL(`../${folder}/`, import.meta.url))
    for (const file of readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(isProduct)) {
      const tree = parseAst(readFileSync(join(root, file), 'utf8'), { lang: file.endsWith('x') ? 'tsx' : 'ts' })
      JSON.stringify(tree, (_, node: unknown) => {
        const regex = typeof node === 'object' && node !== null && 'regex' in node ? node.regex : undefined
        if (regex) found.push({ file: `${folder}/${file}`, ...(regex as Pick<Literal, 'pattern' | 'flags'>) })
        return typeof node === 'bigint' ? undefined : node
      })
    }
  }
  return found
}

/** Quantifiers without an upper bound. */
function loopsIn(pattern: string): number {
  const bare = pattern.replace(/\\./g, '_').replace(/\[[^\]]*\]/g, '_')
  return bare.match(/[*+]|\{\d+,\}/g)?.length ?? 0
}

function isLinear({ pattern, flags }: Omit<Literal, 'file'>): boolean {
  const loops = loopsIn(pattern)
  // No backtracking without a loop, or with a loop that can begin in one place only.
  if (loops === 0) return true
  if (loops === 1 && pattern.startsWith('^') && !pattern.includes('|') && !flags.includes('m')) return true
  if (provedLinear.has(`/${pattern}/${flags}`)) return true
  const { safe } = isSafePattern(pattern, {
    caseInsensitive: flags.includes('i'),
    dotAll: flags.includes('s'),
    multiLine: flags.includes('m'),
    unicode: flags.includes('u'),
  })
  return safe
}

describe('regular expressions', () => {
  const all = literals()

  it('take linear time', () => {
    expect(all.length).toBeGreaterThan(200)
    const slow = all.filter((each) => !isLinear(each)).map(({ file, pattern, flags }) => `${file} /${pattern}/${flags}`)
    expect(slow).toEqual([])
  })

  it('that are listed as linear are in use', () => {
    const used = new Set(all.map(({ pattern, flags }) => `/${pattern}/${flags}`))
    expect([...provedLinear].filter((each) => !used.has(each))).toEqual([])
  })

  it.each([String.raw`\/+$`, String.raw`^[.\s]+|[.\s]+$`, String.raw`\s+AND\s+`, '(a+)+$', 'a.*b'])(
    'are recognised when they do not: /%s/',
    (pattern) => expect(isLinear({ pattern, flags: '' })).toBe(false),
  )
})
