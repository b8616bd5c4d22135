import { describe, expect, it } from 'vitest'
import { isProcessDead, placeOf, processIdentity } from './process-identity.js'

/** Beyond the largest process id that Linux gives out. */
const gone = (identity: string) => identity.replace(/^([^/]+)\/\d+\//, '$1/4194305/')

describe('the identity of a process', () => {
  const here = placeOf('boot-1')

  it('counts a process of this machine as dead when it is gone, and only then', () => {
    expect(isProcessDead(gone(processIdentity(here)), here)).toBe(true)
    expect(isProcessDead(processIdentity(here), here)).toBe(false)
  })

  it('counts nobody as dead on a machine with the same name: each has its own boot', () => {
    expect(isProcessDead(gone(processIdentity(placeOf('boot-2'))), here)).toBe(false)
  })

  it('counts nobody as dead where a machine cannot be told from its twins', () => {
    const nowhere = placeOf('')
    expect(isProcessDead(gone(processIdentity(nowhere)), nowhere)).toBe(false)
  })

  it.runIf(process.platform === 'linux')('names the boot of the machine', async () => {
    const { readFile } = await import('node:fs/promises')
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
    expect(processIdentity()).toContain(`:${boot}:`)
    expect(isProcessDead(gone(processIdentity()))).toBe(true)
  })
})
