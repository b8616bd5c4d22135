/** Helpers for tests of agents, and the suites that stores and transports must pass. */

// Test an agent

export { type TestAgent, type TestAgentOptions, testAgent } from './test-agent.js'

// Helpers: time, waiting, messages, an agent to call

export { echoAgent } from './echo-agent.js'
export { type Duration, type FakeClock, fakeClock } from './fake-clock.js'
export { callBy, send, userMessage } from './messages.js'
export { type Gate, gate, until } from './wait.js'

// Extend: suites for stores and transports of your own

export { type OpenStore, type StoreContractOptions, storeContract, type TestRunner } from '../stores/store.contract.js'
export {
  type OpenedTransport,
  type OpenTransport,
  type OpenTransportOptions,
  type TransportLimits,
  transportContract,
} from '../transports/transport.contract.js'
