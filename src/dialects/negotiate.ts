/** Selects the dialect of a call by its version and its method or path (R-VER, RM-DET-1). */
import { A2AError, clip } from '../model/errors.js'
import type { Dialect } from './dialect.js'

/** The version of a call that states none (R-VER-3). */
const impliedVersion = '0.3'

/** `1.0.1` and `1.0` are the same version (R-VER-5). */
function majorMinor(version: string): string {
  if (version.length === 3) return version
  return version.trim().split('.').slice(0, 2).join('.')
}

interface VersionRequest {
  /** The `A2A-Version` header, else the query parameter of that name; empty means absent. */
  readonly version: string | undefined
  /** Whether this dialect has the method or path. */
  readonly isServedIn: (dialect: Dialect) => boolean
  /** Serve a call without a version that can only be v1.0, so that plain `curl` works. */
  readonly assumeV1: boolean
}

/**
 * The dialects that may serve the call, best first: nearly always one. If none has the method, the dialect of the
 * stated version, which encodes the error. A version that no dialect offers is `VERSION_NOT_SUPPORTED`, even for
 * unknown methods: the version is checked before the method (R-VER-4).
 */
export function negotiate(
  offered: readonly Dialect[],
  { version, isServedIn, assumeV1 }: VersionRequest,
): readonly Dialect[] {
  const asked = askedVersion(version)
  const matching = offered.filter((dialect) => accepts(dialect, asked) && isServedIn(dialect))
  if (asked === undefined) {
    // Ambiguous calls resolve to the older version: only v1.0 requires callers to state their version.
    const older = matching.filter((dialect) => !dialect.requiresVersion)
    if (older.length > 0) return [...older].sort(knownByPathFirst)
    if (assumeV1 && matching.length > 0) return matching
  } else if (matching.length > 0) {
    const exact = matching.filter(({ versions }) => versions.includes(asked))
    return exact.length > 0 ? exact : matching
  }
  const named = offered.find(({ versions }) => versions.includes(asked ?? impliedVersion))
  if (named) return [named]
  const [first] = offered
  if (asked === undefined && assumeV1 && first) return [first]
  throw versionNotSupported(
    offered.flatMap((each) => each.versions),
    asked ?? impliedVersion,
  )
}

/** The dialect for errors about calls that cannot be decoded far enough to select one. */
export function dialectByVersion(offered: readonly Dialect[], version: string | undefined): Dialect {
  const asked = askedVersion(version)
  const named = offered.find(({ versions }) => asked !== undefined && versions.includes(asked))
  return named ?? (offered[0] as Dialect) // an endpoint has at least one
}

/** The stated version as `Major.Minor`; undefined if the call states none. */
export function askedVersion(version: string | undefined): string | undefined {
  return version?.trim() ? majorMinor(version) : undefined
}

function accepts(dialect: Dialect, asked: string | undefined): boolean {
  if (asked === undefined || dialect.versions.includes(asked)) return true
  return dialect.acceptedVersions?.includes(asked) === true
}

/** Dialects without versions come first: the user enabled them for their paths (RM-DET-3). */
function knownByPathFirst(a: Dialect, b: Dialect): number {
  return Math.min(a.versions.length, 1) - Math.min(b.versions.length, 1)
}

export function versionNotSupported(offered: readonly string[], asked: string): A2AError {
  const version = clip(asked)
  const versions = [...new Set(offered)].join(', ')
  const instead = versions === '' ? 'name none' : `offered: ${versions}`
  return new A2AError('VERSION_NOT_SUPPORTED', `A2A version ${version} is not offered here; ${instead}`, {
    metadata: { requestedVersion: version, supportedVersions: versions },
  })
}
