/** MCP over the standard streams of a process, in front of agents at any address. */
import type { AgentCard } from '../../model/agent-card.js'
import { type AgentService, anonymous } from '../../model/service.js'
import { toolName } from '../agent-tools.js'
import { createAgentServer } from './agent-server.js'
import { defaultWaitMs } from './endpoint.js'
import { loadServerSdk, loadStdio } from './load-server.js'
import type { ToolAccess } from './tool-calls.js'
import { type ToolAgent, toolsOf } from './tools.js'

/** An agent that is connected to when a client lists the tools. */
export interface StdioAgent {
  connect(): Promise<{ readonly card: AgentCard; readonly service: AgentService }>
}

export interface StdioOptions {
  readonly agents: readonly StdioAgent[]
  readonly waitMs?: number
  /** Receives errors: standard output belongs to the protocol. */
  readonly onError: (error: unknown) => void
  readonly authHint?: string
}

/** Serves MCP until the client closes the standard input. Throws if no agent can be reached. */
export async function serveMcpStdio(options: StdioOptions): Promise<void> {
  const { waitMs = defaultWaitMs, onError } = options
  // First: its error names the command.
  const { serveStdio } = await loadStdio()
  const sdk = await loadServerSdk()
  const agents = new ConnectedAgents(options)
  await agents.connect()
  const ended = new Promise<void>((resolve) => process.stdin.once('end', resolve).once('close', resolve))
  const deps = { sdk, waitMs, isClosing: () => true, access: () => agents.access() }
  const handle = serveStdio(() => createAgentServer(deps), { onerror: onError })
  await ended
  await handle.close()
}

class ConnectedAgents {
  readonly #options: StdioOptions
  /** By their place in the options. */
  readonly #connected = new Map<number, ToolAgent>()
  readonly #keys = new Set<string>()
  #connecting: Promise<void> | undefined

  constructor(options: StdioOptions) {
    this.#options = options
  }

  /** Connects to the agents that are missing. Reports those that cannot be reached, and throws if none can. */
  connect(): Promise<void> {
    this.#connecting ??= this.#connectMissing().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  async access(): Promise<ToolAccess> {
    const { agents: all, onError, authHint } = this.#options
    if (this.#connected.size < all.length) await this.connect()
    const agents = [...this.#connected].sort(([a], [b]) => a - b).map(([, agent]) => agent)
    return {
      caller: anonymous,
      agents: new Map(agents.map((agent) => [agent.key, agent])),
      tools: toolsOf(agents),
      onError,
      ...(authHint !== undefined && { authHint }),
    }
  }

  async #connectMissing(): Promise<void> {
    const { agents, onError } = this.#options
    const missing = [...agents.entries()].filter(([place]) => !this.#connected.has(place))
    const attempts = await Promise.allSettled(missing.map(([, agent]) => agent.connect()))
    for (const [at, attempt] of attempts.entries()) {
      const [place] = missing[at] ?? [0]
      if (attempt.status === 'rejected') {
        if (this.#connected.size === 0 && attempts.every(({ status }) => status === 'rejected')) throw attempt.reason
        onError(attempt.reason)
        continue
      }
      const { card, service } = attempt.value
      // A key stays with its agent when further agents are reached later.
      this.#connected.set(place, { key: toolName(card.name, this.#keys), card, service })
    }
  }
}
