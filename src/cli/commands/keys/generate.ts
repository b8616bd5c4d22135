import { Command, Option } from 'commander'
import { createSigner, generateSigningKey, type SigningAlgorithm, signingAlgorithms } from '../../../server/index.js'
import { addOutputOption } from '../../agent-options.js'
import { type Format, Output } from '../../output.js'
import { writeSigningKey } from '../../signing-keys.js'

interface Options {
  readonly alg: SigningAlgorithm
  readonly kid?: string
  readonly out?: string
  readonly output: Format
}

export function generateCommand(): Command {
  return addOutputOption(
    new Command('generate')
      .description('Make a private key, as a JWK')
      .addOption(new Option('--alg <name>', 'what it signs with').choices(signingAlgorithms).default('ES256'))
      .option('--kid <name>', 'the name it is known by (default: its thumbprint)')
      .option('--out <path>', 'a new file that only you can read (default: standard output)'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman keys generate --out key.json
  dragoman serve --echo --signing-key key.json

The public half is published by the server, at /.well-known/jwks.json.`,
    )
    .action(generate)
}

async function generate({ alg, kid, out, output: format }: Options): Promise<void> {
  const output = new Output(format)
  const key = { ...(await generateSigningKey({ alg })), ...(kid !== undefined && { kid }) }
  if (out === undefined) {
    output.result(key, () => JSON.stringify(key, null, 2))
    return
  }
  const [publicKey] = (await createSigner({ keys: [key] })).jwks().keys
  await writeSigningKey(out, key)
  output.result({ path: out, publicKey }, () => `${out}: a key for ${alg}, known as ${key.kid}`)
}
