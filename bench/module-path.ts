import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Path of a module of the bench, to start it as a process. The extension is `.js` in the compiled output, and `.ts`
 * where Node runs the sources directly.
 */
export function modulePath(name: string): string {
  return fileURLToPath(new URL(`${name}${extname(import.meta.url)}`, import.meta.url))
}
