import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { credentialFile } from './credentials.js'

afterEach(() => {
  vi.unstubAllEnvs()
})

it.skipIf(process.platform === 'win32')('names the setting that determines the path of the credential file', () => {
  vi.stubEnv('DRAGOMAN_CONFIG_DIR', '')
  vi.stubEnv('XDG_CONFIG_HOME', '')
  expect(credentialFile().source).toBe('default')
  vi.stubEnv('XDG_CONFIG_HOME', '/xdg')
  expect(credentialFile()).toEqual({ path: join('/xdg', 'dragoman', 'credentials.json'), source: 'XDG_CONFIG_HOME' })
  vi.stubEnv('DRAGOMAN_CONFIG_DIR', '/own')
  expect(credentialFile()).toEqual({ path: join('/own', 'credentials.json'), source: 'DRAGOMAN_CONFIG_DIR' })
})
