import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { credentialPlace } from './credential-file.js'

afterEach(() => {
  vi.unstubAllEnvs()
})

it.skipIf(process.platform === 'win32')('says who decided where credentials are kept', () => {
  vi.stubEnv('DRAGOMAN_CONFIG_DIR', '')
  vi.stubEnv('XDG_CONFIG_HOME', '')
  expect(credentialPlace().source).toBe('default')
  vi.stubEnv('XDG_CONFIG_HOME', '/xdg')
  expect(credentialPlace()).toEqual({ path: join('/xdg', 'dragoman', 'credentials.json'), source: 'XDG_CONFIG_HOME' })
  vi.stubEnv('DRAGOMAN_CONFIG_DIR', '/own')
  expect(credentialPlace()).toEqual({ path: join('/own', 'credentials.json'), source: 'DRAGOMAN_CONFIG_DIR' })
})
