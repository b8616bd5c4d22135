/** Helpers for tests of agents, and the suites that stores must pass. */

// Test agents

export { echoAgent } from './echo-agent.js'
export { type Duration, type FakeClock, fakeClock } from './fake-clock.js'
export { callBy, send, userMessage } from './messages.js'
export { type TestAgent, type TestAgentOptions, testAgent } from './test-agent.js'
export { type Gate, gate, until } from './wait.js'

// Extend: test a store

export { type OpenStore, type StoreContractOptions, storeContract, type TestRunner } from '../stores/store.contract.js'
