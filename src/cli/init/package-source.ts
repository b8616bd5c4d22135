import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { isObject } from '../../model/is-object.js'

/**
 * Returns the version range or the `file:` reference that installs the package at `root` again. A clone and a package that
 * npm installed from a file get a `file:` reference with an absolute path.
 */
export function sourceOf(root: string, version: string): string {
  if (existsSync(join(root, 'src'))) return `file:${root}`
  const modules = dirname(root)
  if (basename(modules) !== 'node_modules') return `^${version}`
  // References in the lockfiles and in `package.json` are relative to the project. npm writes no lockfile there for a
  // global installation.
  const project = dirname(modules)
  const name = basename(root)
  const reference =
    lockedFile(join(modules, '.package-lock.json'), name) ??
    lockedFile(join(project, 'package-lock.json'), name) ??
    requestedFile(join(project, 'package.json'), name)
  return reference === undefined ? `^${version}` : `file:${resolve(project, reference)}`
}

function lockedFile(path: string, name: string): string | undefined {
  const entry = memberOf(memberOf(readJson(path), 'packages'), `node_modules/${name}`)
  return pathIn(memberOf(entry, 'resolved'))
}

function requestedFile(path: string, name: string): string | undefined {
  const manifest = readJson(path)
  return (
    pathIn(memberOf(memberOf(manifest, 'dependencies'), name)) ??
    pathIn(memberOf(memberOf(manifest, 'devDependencies'), name))
  )
}

function pathIn(reference: unknown): string | undefined {
  return typeof reference === 'string' && reference.startsWith('file:') ? reference.slice('file:'.length) : undefined
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined // the file is absent or damaged: the next source decides
  }
}
