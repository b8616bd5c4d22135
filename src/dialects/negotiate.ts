/** Which dialect a call is spoken in, by its version and by what it asks for (R-VER, RM-DET-1). */
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
  /** Serve a call without a version that can only be v1.0, so that plain `curl` works. */
  readonly assumeV1: boolean
}

/**
 * The dialects the call may be spoken in, best first: nearly always one. When none has the method, the
 * one whose version was asked for, to say so. A version nobody offers is `VERSION_NOT_SUPPORTED`, also
 * for unknown methods: it is checked before the method is looked at (R-VER-4).
 */
export function negotiate(
  offered: readonly Dialect[],
  { version, isSpokenIn, assumeV1 }: VersionRequest,
): readonly Dialect[] {
  const asked = askedVersion(version)
  const spoken = offered.filter((dialect) => accepts(dialect, asked) && isSpokenIn(dialect))
  if (asked === undefined) {
    // What an older dialect may mean, it means: only v1.0's callers are told to name their version.
    const older = spoken.filter((dialect) => !dialect.requiresVersion)
    if (older.length > 0) return [...older].sort(knownByPathFirst)
    if (assumeV1 && spoken.length > 0) return spoken
  } else if (spoken.length > 0) {
    const exact = spoken.filter(({ versions }) => versions.includes(asked))
    return exact.length > 0 ? exact : spoken
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

/** The dialect for errors about calls that cannot be read far enough to tell. */
export function dialectByVersion(offered: readonly Dialect[], version: string | undefined): Dialect {
  const asked = askedVersion(version)
  const named = offered.find(({ versions }) => asked !== undefined && versions.includes(asked))
  return named ?? (offered[0] as Dialect) // an endpoint offers at least one
}

/** The version a call names as `Major.Minor`; absent when it names none. */
export function askedVersion(version: string | undefined): string | undefined {
  return version?.trim() ? majorMinor(version) : undefined
}

function accepts(dialect: Dialect, asked: string | undefined): boolean {
  if (asked === undefined || dialect.versions.includes(asked)) return true
  return dialect.acceptedVersions?.includes(asked) === true
}

/** A dialect without versions was switched on for the sake of its paths (RM-DET-3). */
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
