import { loadPackage } from '../model/load-package.js'

/** Loads `jose` on first use. */
export function loadJose(): Promise<typeof import('jose')> {
  return loadPackage('Signing and verifying tokens and cards', 'jose', import('jose'))
}
