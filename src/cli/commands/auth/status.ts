import { Command } from 'commander'
import { addOutputOption, refHelp } from '../../agent-options.js'
import { readCredentials, type StoredCredential } from '../../credentials/credential-file.js'
import { originOf } from '../../credentials/origin.js'
import { type Format, Output } from '../../output.js'
import { table } from '../../printable.js'

export function statusCommand(): Command {
  return addOutputOption(
    new Command('status')
      .description('List the agents that credentials are kept for; the secrets are not shown')
      .argument('[ref]', `${refHelp}; default: all`),
  ).action(async (ref: string | undefined, options: { readonly output: Format }) => {
    const kept = [...(await readCredentials())].filter(([origin]) => ref === undefined || origin === originOf(ref))
    const credentials = kept.map(([origin, credential]) => ({ origin, kind: credential.kind, ...facts(credential) }))
    new Output(options.output).result({ credentials }, () =>
      credentials.length === 0
        ? `No credentials${ref === undefined ? '' : ` for ${originOf(ref)}`}`
        : table(credentials.map(({ origin, kind, ...rest }) => [origin, kind, Object.values(rest).join(', ')])),
    )
  })
}

/** What is no secret. */
function facts(credential: StoredCredential): Readonly<Record<string, string>> {
  if (credential.kind === 'basic') return { user: credential.user }
  if (credential.kind !== 'oauth2') return {}
  const ends = Object.values(credential.tokens ?? {}).map(({ expiresAtMs }) => expiresAtMs)
  const [end] = ends
  return {
    clientId: credential.clientId,
    token: ends.length === 0 ? 'no token yet' : end === undefined ? 'has a token' : `token until ${isoTime(end)}`,
  }
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
