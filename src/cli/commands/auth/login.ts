import { Command } from 'commander'
import {
  A2AError,
  type AgentCard,
  type ConnectOptions,
  connect,
  createTokenStore,
  type TokenStore,
} from '../../../client/index.js'
import { type AgentOptions, addAgentOptions, connectOptions, refHelp, splitWords } from '../../agent-options.js'
import { askUser } from '../../credentials/ask-user.js'
import { wantedText } from '../../credentials/auth-hint.js'
import { storeCredential, type Token } from '../../credentials/credential-file.js'
import { credentialSource } from '../../credentials/credential-source.js'
import {
  addCredentialOptions,
  askCredential,
  type GivenCredential,
  readGiven,
} from '../../credentials/given-credential.js'
import { originOf } from '../../credentials/origin.js'
import { Advised } from '../../failure.js'
import { Output } from '../../output.js'

interface Options extends AgentOptions, GivenCredential {
  readonly check: boolean
}

export function loginCommand(): Command {
  const command = new Command('login')
    .description('Keep a credential for an agent, and send it with every call to its origin')
    .argument('[ref]', refHelp)
  return addAgentOptions(addCredentialOptions(command))
    .option('--no-check', 'keep it without trying it')
    .addHelpText(
      'after',
      `
Examples:
  dragoman auth login agent.example
  pass show agent | dragoman auth login agent.example --bearer -
  dragoman auth login agent.example --client-id cli --issuer https://login.example --flow device

Without a credential the command asks for one. What is typed on the command line can be seen by others on this
machine: prefer the question, or stdin.`,
    )
    .action(async (first: string | undefined, options: Options) => {
      const [ref] = splitWords([first], options, [])
      const output = new Output(options.output)
      const origin = originOf(ref)
      const { credentials: _kept, ...usual } = await connectOptions(ref, options, output)
      const card = await readCard(ref, usual)
      const credential = (await readGiven(options)) ?? (await askCredential(card))
      const { store, tokens } = rememberTokens()
      if (options.check) {
        const source = credentialSource(credential, store, askUser(output))
        await output.during('Trying it', check(ref, { ...usual, credentials: source }))
      }
      await storeCredential(origin, { ...credential, ...(tokens.size > 0 && { tokens: Object.fromEntries(tokens) }) })
      output.result({ origin, kind: credential.kind }, () => `Kept a credential (${credential.kind}) for ${origin}`)
    })
}

/** Tokens of a login are kept when it is kept. */
function rememberTokens(): { readonly store: TokenStore; readonly tokens: ReadonlyMap<string, Token> } {
  const tokens = new Map<string, Token>()
  const memory = createTokenStore()
  const store: TokenStore = {
    ...memory,
    set(key, token) {
      tokens.set(key, token)
      return memory.set(key, token)
    },
  }
  return { store, tokens }
}

/** What the agent wants; absent when even its card is not for everybody. */
async function readCard(ref: string, options: ConnectOptions): Promise<AgentCard | undefined> {
  try {
    const agent = await connect(ref, options)
    await agent.close()
    return agent.card
  } catch (error) {
    if (isRefusal(error)) return undefined
    throw error
  }
}

/** A call that changes nothing; only a refusal of the credential counts, agents may know no lists. */
async function check(ref: string, options: ConnectOptions): Promise<void> {
  let card: AgentCard | undefined
  try {
    await using agent = await connect(ref, { ...options, onWarning: () => {} })
    card = agent.card
    await agent.listTasks({ pageSize: 1 })
  } catch (error) {
    if (isRefusal(error)) {
      const wanted = card && wantedText(card)
      throw new Advised(
        error,
        `Check the credential; it was not stored.${wanted ? ` The agent asks for ${wanted}` : ''}`,
      )
    }
    // Without a card there is no agent to store a credential for.
    if (!(error instanceof A2AError) || !card) throw error
  }
}

function isRefusal(error: unknown): error is A2AError {
  return error instanceof A2AError && (error.code === 'UNAUTHENTICATED' || error.code === 'PERMISSION_DENIED')
}
