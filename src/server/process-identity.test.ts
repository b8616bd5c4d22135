import { describe, expect, it } from 'vitest'
import { isProcessDead, placeOf, processIdentity } from './process-identity.js'

/** A process id above the maximum of Linux. */
const gone = (identity: string) => identity.replace(/^([^/]+)\/\d+\//, '$1/4194305/')

describe('the identity of a process', () => {
  const here = placeOf('boot-1')

  it('counts a process of this machine as dead only when it has exited', () => {
    expect(isProcessDead(gone(processIdentity(here)), here)).toBe(true)
    expect(isProcessDead(processIdentity(here), here)).toBe(false)
  })

  it('counts no process as dead on a machine with the same name and another boot', () => {
    expect(isProcessDead(gone(processIdentity(placeOf('boot-2'))), here)).toBe(false)
  })

  it('counts no process as dead on a machine whose boot is unknown', () => {
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
