import { Command } from 'commander'
import { type AgentClient, connect } from '../../client/index.js'
import {
  type AgentOptions,
  addCertificateOptions,
  addConnectionOptions,
  agentHelp,
  connectOptions,
  toSeconds,
} from '../agent-options.js'
import { Output } from '../output.js'
import { withoutSecrets } from '../printable.js'

interface Options extends Omit<AgentOptions, 'output' | 'agent'> {
  readonly wait?: number
}

export function mcpCommand(): Command {
  const command = new Command('mcp')
    .description('Offer agents as tools to an MCP client, over stdin and stdout')
    .argument('<agent...>', `${agentHelp}; several are possible`)
    .option(
      '--wait <seconds>',
      'time that a tool waits for its agent; then it answers with the id of the task (default: 50)',
      toSeconds,
    )
  return addConnectionOptions(addCertificateOptions(command))
    .addHelpText(
      'after',
      `
Examples:
  dragoman mcp tailor.example chef.example
  claude mcp add tailor -- dragoman mcp tailor.example
  npx @modelcontextprotocol/inspector dragoman mcp localhost:8001

MCP clients start this command. The command needs the package @modelcontextprotocol/server:
  npm install --global dragoman @modelcontextprotocol/server
In the configuration of a client write:
  { "mcpServers": { "agents": { "command": "dragoman", "args": ["mcp", "tailor.example"] } } }

Each agent is a tool, or each of its skills that has a schema. Agents of every protocol version work. The command uses the
credentials of \`dragoman auth login\`. stdout belongs to the protocol; messages go to stderr.`,
    )
    .action(async (refs: readonly string[], { wait, ...options }: Options) => {
      // Loaded here, because the help must not load it.
      const { serveMcpStdio } = await import('../../integrations/mcp/stdio.js')
      const output = new Output('text')
      const clients: AgentClient[] = []
      const agents = refs.map((ref) => ({
        async connect() {
          const client = await connect(ref, await connectOptions(ref, { ...options, output: 'text' }, output))
          clients.push(client)
          output.note(
            `${client.card.name} at ${withoutSecrets(ref)}: ${client.choice.dialect} over ${client.choice.binding}`,
          )
          return { card: client.card, service: client }
        },
      }))
      try {
        await serveMcpStdio({
          agents,
          ...(wait !== undefined && { waitMs: wait * 1000 }),
          onError: (error) => output.failure(error),
          authHint: 'Store a credential with `dragoman auth login`, and start the MCP server again',
        })
      } finally {
        await Promise.all(clients.map((client) => client.close()))
      }
    })
}
