import { Command } from 'commander'
import { withoutSecrets } from '../../../model/error-facts.js'
import { addOutputOption } from '../../agent-options.js'
import { credentialPlace, readCredentials } from '../../credentials/credential-file.js'
import { type Format, Output } from '../../output.js'
import { oneLine, table } from '../../printable.js'

interface Setting {
  readonly name: string
  readonly value: string
  /** Where it is from. */
  readonly source: string
}

export function showCommand(): Command {
  return addOutputOption(
    new Command('show').description('Print every setting that is not an option, and where it is from; no secrets'),
  )
    .addHelpText('after', '\nOptions of a command come before what is set here.')
    .action(async ({ output: format }: { readonly output: Format }) => {
      const settings = await readSettings()
      new Output(format).result({ settings }, () =>
        table(settings.map(({ name, value, source }) => [name, value, `(${source})`].map(oneLine))),
      )
    })
}

async function readSettings(): Promise<readonly Setting[]> {
  const { DRAGOMAN_REGISTRY, NO_COLOR, FORCE_COLOR } = process.env
  const { path, source } = credentialPlace()
  const origins = [...(await readCredentials()).keys()]
  return [
    { name: 'credentials', value: path, source },
    { name: 'logged in at', value: origins.join(', ') || 'nowhere', source: 'dragoman auth login' },
    {
      name: 'registry',
      value: DRAGOMAN_REGISTRY ? withoutSecrets(DRAGOMAN_REGISTRY) : 'none',
      source: DRAGOMAN_REGISTRY ? 'DRAGOMAN_REGISTRY' : 'default',
    },
    {
      name: 'colour',
      value: NO_COLOR ? 'off' : FORCE_COLOR ? 'on' : 'on terminals',
      source: NO_COLOR ? 'NO_COLOR' : FORCE_COLOR ? 'FORCE_COLOR' : 'default',
    },
  ]
}
