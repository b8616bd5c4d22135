import { Command } from 'commander'
import { addOutputOption, refHelp } from '../../agent-options.js'
import { forgetCredential } from '../../credentials/credential-file.js'
import { originOf } from '../../credentials/origin.js'
import { type Format, Output } from '../../output.js'

export function logoutCommand(): Command {
  return addOutputOption(
    new Command('logout').description('Forget the credentials for an agent').argument('<ref>', refHelp),
  ).action(async (ref: string, options: { readonly output: Format }) => {
    const origin = originOf(ref)
    const wasThere = await forgetCredential(origin)
    new Output(options.output).result({ origin, wasThere }, () =>
      wasThere ? `Forgot the credentials for ${origin}` : `There were no credentials for ${origin}`,
    )
  })
}
