/** Helpers for tests of agents, and the suites that stores, transports and dialects must pass. */

// Test an agent

export { type TestAgent, type TestAgentOptions, testAgent } from './test-agent.js'

// Helpers: time, waiting, messages, an agent to call

export { echoAgent } from './echo-agent.js'
export { type Duration, type FakeClock, fakeClock } from './fake-clock.js'
export { callBy, send, userMessage } from './messages.js'
export { type Gate, gate, until } from './wait.js'

// Extend: suites for stores, transports and dialects of your own

export { dialectContract } from '../dialects/dialect.contract.js'
export type { DialectSides } from '../dialects/dialect-forms.contract.js'
export type { OpenStore, TestRunner } from '../stores/contract-steps.js'
export { type StoreContractOptions, storeContract } from '../stores/store.contract.js'
export {
  type OpenedTransport,
  type OpenTransport,
  type OpenTransportOptions,
  type TransportLimits,
  transportContract,
} from '../transports/transport.contract.js'
