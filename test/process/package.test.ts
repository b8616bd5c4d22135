/** The package as users get it: packed, installed elsewhere, run. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

describe('the packed package', () => {
  it('can be installed elsewhere and serves the agent of the README', { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dragoman-pack-'))
    try {
      execFileSync('npm', ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder], { cwd: root })
      const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'))
      // The dependencies are the ones installed here: what is tested is our package, not the registry.
      const modules = join(folder, 'app', 'node_modules')
      mkdirSync(modules, { recursive: true })
      execFileSync('tar', ['-xzf', join(folder, tarball ?? '')], { cwd: folder })
      for (const name of readdirSync(join(root, 'node_modules'))) {
        if (!name.startsWith('.')) symlinkSync(join(root, 'node_modules', name), join(modules, name))
      }
      execFileSync('mv', [join(folder, 'package'), join(modules, 'dragoman')])
      const program = `
        import { agent, serve } from 'dragoman'
        const shout = agent('Shout', async function* ({ text }) {
          yield text.toUpperCase()
        })
        const { url } = await serve(shout, { port: 0, store: 'sqlite:tasks.sqlite' })
        const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello' }] }
        const answer = await fetch(url + 'message:send', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ message }) })
        console.log((await answer.json()).task.artifacts[0].parts[0].text)
        process.exit(0)`
      writeFileSync(join(folder, 'app', 'agent.mjs'), program)
      expect(await run(process.execPath, ['agent.mjs'], join(folder, 'app'))).toBe('HELLO\n')
      const help = await run(
        process.execPath,
        [join(modules, 'dragoman', 'bin', 'dragoman.js'), 'serve', '--help'],
        folder,
      )
      expect(help).toContain('--echo')
      expect(readdirSync(join(modules, 'dragoman', 'proto'))).toContain('a2a_v1.proto')
      expect(readdirSync(join(modules, 'dragoman', 'dist'))).not.toContain('examples')
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((done, fail) => {
    const child = spawn(command, args, { cwd })
    let output = ''
    let errors = ''
    child.stdout.on('data', (chunk) => {
      output += String(chunk)
    })
    child.stderr.on('data', (chunk) => {
      errors += String(chunk)
    })
    child.on('exit', (code) => (code === 0 ? done(output) : fail(new Error(errors))))
  })
}
