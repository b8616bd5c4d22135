import { Command, Option } from 'commander'
import { createSigner, generateSigningKey, type SigningAlgorithm, signingAlgorithms } from '../../server/index.js'
import { addOutputOption } from '../agent-options.js'
import { type Format, Output } from '../output.js'
import { writeSigningKey } from '../signing-keys.js'

interface Options {
  readonly alg: SigningAlgorithm
  readonly kid?: string
  readonly out?: string
  readonly output: Format
}

export function keysCommand(): Command {
  return new Command('keys').description('Generate keys that sign cards and webhook deliveries').addCommand(
    addOutputOption(
      new Command('generate')
        .description('Generate a private key, as a JWK')
        .addOption(new Option('--alg <name>', 'signature algorithm').choices(signingAlgorithms).default('ES256'))
        .option('--kid <id>', 'key id (default: the thumbprint of the key)')
        .option('--out <path>', 'write to a new file that only you can read (default: standard output)'),
    )
      .addHelpText(
        'after',
        `
Examples:
  dragoman keys generate --out key.json
  dragoman serve --echo --signing-key key.json

The server publishes the public key at /.well-known/jwks.json.`,
      )
      .action(generate),
  )
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
  output.result({ path: out, publicKey }, () => `${out}: a key for ${alg} with the id ${key.kid}`)
}
