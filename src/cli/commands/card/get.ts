import { Command } from 'commander'
import { type AgentCard, type Verification, verifyCard } from '../../../client/index.js'
import { canParseUrl } from '../../../model/can-parse-url.js'
import { type AgentOptions, addAgentOptions, refHelp, splitWords, withAgent } from '../../agent-options.js'
import { cardText, choiceText } from '../../card-text.js'
import { originOf } from '../../credentials/origin.js'
import { Output } from '../../output.js'
import { printableJson } from '../../printable.js'
import { readRawCard } from '../../raw-card.js'

interface Options extends AgentOptions {
  readonly why?: true
  readonly raw?: true
  readonly extended?: true
}

export function getCommand(): Command {
  return addAgentOptions(
    new Command('get')
      .description('Print the card of an agent, and how it would be spoken to')
      .argument('[ref]', refHelp)
      .option('-v, --why', 'why it would be spoken to that way')
      .option('--raw', 'the card as it came, whatever its version')
      .option('--extended', 'the card for those who are known to the agent'),
  )
    .addHelpText(
      'after',
      `
Examples:
  dragoman card get localhost:8001 --why
  dragoman card get https://agent.example/.well-known/agent.json --raw
  dragoman card get localhost:8001 -o json | jq .skills`,
    )
    .action(async (first: string | undefined, options: Options) => {
      const [ref] = splitWords([first], options, [])
      if (options.raw) {
        const { raw } = await readRawCard(ref, options, new Output(options.output))
        process.stdout.write(`${printableJson(raw, 2)}\n`)
        return
      }
      await withAgent(ref, options, async (agent, output) => {
        const { choice } = agent
        const card = options.extended ? await agent.getExtendedAgentCard({}) : agent.card
        const signature = options.extended ? await verifyExtended(card, ref, options) : agent.signature
        output.result(options.why ? { card, choice, signature } : card, () =>
          output.said([cardText(card, signature), choiceText(choice, options.why === true)].join('\n\n')),
        )
      })
    })
}

/** It is signed by itself; that the other card is says nothing about it. */
async function verifyExtended(card: AgentCard, ref: string, { signed }: Options): Promise<Verification> {
  const origin = originOf(ref)
  return await verifyCard(
    { raw: card, ...(canParseUrl(origin) && { origin }) },
    { policy: signed ? 'require' : 'warn' },
  )
}
