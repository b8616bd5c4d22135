/** Which dialect a call is spoken in (R-VER). */
import { A2AError, clip } from '../model/errors.js'
import type { Dialect } from './dialect.js'

/** What a call without a version means: the letter of R-VER-3. */
const impliedVersion = '0.3'

/** `1.0.1` and `1.0` are the same version (R-VER-5). */
function majorMinor(version: string): string {
  if (version.length === 3) return version
  return version.trim().split('.').slice(0, 2).join('.')
}

export interface VersionRequest {
  /** The `A2A-Version` header, else the query parameter of that name; empty means absent. */
  readonly version: string | undefined
  /** Whether this dialect has the method or path. */
  readonly isSpokenIn: (dialect: Dialect) => boolean
  /** Serve a call without a version in the only dialect that has its method, so that plain `curl` works. */
  readonly assumeV1: boolean
}

/**
 * The dialect to answer in. A version nobody offers is `VERSION_NOT_SUPPORTED`, also for unknown
 * methods: it is checked before the method is looked at (R-VER-4).
 */
export function negotiate(offered: readonly Dialect[], request: VersionRequest): Dialect {
  const asked = request.version?.trim() ? majorMinor(request.version) : undefined
  if (asked === undefined && request.assumeV1) {
    const spoken = offered.find((dialect) => request.isSpokenIn(dialect))
    if (spoken) return spoken
    const first = offered[0]
    if (first) return first
  }
  const version = clip(asked ?? impliedVersion)
  const dialect = offered.find((each) => each.version === version)
  if (dialect) return dialect
  const versions = offered.map((each) => each.version).join(', ')
  throw new A2AError('VERSION_NOT_SUPPORTED', `A2A version ${version} is not offered here; offered: ${versions}`, {
    metadata: { requestedVersion: version, supportedVersions: versions },
  })
}
