import { statfs } from 'node:fs/promises'

/** A file system with less free space than this counts as full. */
const minFreeBytes = 1024 * 1024

/** Throws if the file system of a folder is full. */
export async function assertFreeSpace(folder: string): Promise<void> {
  const { blocks, bsize, bavail, bfree } = await statfs(folder)
  const free = (process.getuid?.() === 0 ? bfree : bavail) * bsize
  // Some virtual file systems report no blocks at all.
  if (blocks > 0 && free < minFreeBytes) throw new Error(`The disk is full: ${free} bytes are free (${folder})`)
}
