/** Agents of this process as targets of `connect`: an agent, a handler or a service. */
import type { AgentCard } from '../model/agent-card.js'
import { isObject } from '../model/is-object.js'
import type { AgentService } from '../model/service.js'
import { createInProcessClient, type FetchFunction } from '../transports/in-process.js'
import type { ConnectOptions } from './connect-options.js'
import { callTimeoutMs } from './open-interface.js'

type InProcessTarget =
  | {
      readonly handle: FetchFunction
      /** Address of the agent. The handler gets requests for this address. */
      readonly url: string
      /** Ends what was started for the connection. */
      close?(): Promise<void>
    }
  | { readonly service: AgentService; readonly card: AgentCard }

/** Undefined if the reference is a card. */
export async function inProcessTarget(ref: object, options: ConnectOptions): Promise<InProcessTarget | undefined> {
  if (typeof ref === 'function') return { handle: ref as FetchFunction, url: localUrl }
  if (isService(ref)) {
    const card = cardOf(ref, options)
    return { service: createInProcessClient(ref, { timeoutMs: callTimeoutMs(options) }), card }
  }
  if (isHandler(ref)) return { handle: (request) => ref.fetch(request), url: ref.agents?.[0]?.url ?? localUrl }
  if (!isObject(ref) || typeof ref.handler !== 'function' || !isObject(ref.card)) return undefined
  const { createHandler } = await import('#handler')
  const handler = await createHandler(ref as never) // an agent: nothing else has a card and a handler
  return { handle: (request) => handler.fetch(request), url: localUrl, close: () => handler.close({ deadlineMs: 0 }) }
}

const localUrl = 'http://localhost'

function isService(ref: object): ref is AgentService & { readonly card?: AgentCard } {
  return 'sendMessage' in ref && typeof ref.sendMessage === 'function' && 'subscribeToTask' in ref
}

interface HandlerLike {
  readonly fetch: FetchFunction
  readonly agents?: readonly { readonly url: string }[]
}

function isHandler(ref: object): ref is HandlerLike {
  return 'fetch' in ref && typeof ref.fetch === 'function'
}

/** The options of `connect` for a service. The others concern cards, addresses and requests, which a service has not. */
const serviceOptions: ReadonlySet<string> = new Set<keyof ConnectOptions>([
  'timeoutMs',
  'retry',
  'breaker',
  'extensions',
  // Without effect, but true: there is no search to abort and nothing to warn of.
  'signal',
  'onWarning',
])

/** The card of a service that is a client itself. Other services have none. */
function cardOf({ card }: { readonly card?: AgentCard }, options: ConnectOptions): AgentCard {
  const unused = Object.entries(options).find(([name, value]) => value !== undefined && !serviceOptions.has(name))?.[0]
  if (unused !== undefined)
    throw new TypeError(
      `\`${unused}\` has no effect on a service, which is called directly; connect to the handler instead: connect(await createHandler(agent), { ${unused} })`,
    )
  return (
    card ?? {
      name: 'Agent in this process',
      description: 'A service without a card',
      version: '',
      supportedInterfaces: [],
      capabilities: { streaming: true },
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [],
    }
  )
}
