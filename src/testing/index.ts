// Things to test with

// Suites for those who write members of a family
export { recordsContract } from '../stores/records.contract.js'
export { type OpenStore, storeContract, type TestRunner } from '../stores/store.contract.js'
export { echoAgent } from './echo-agent.js'
export { type FakeClock, fakeClock } from './fake-clock.js'
export { callBy, send, userMessage } from './messages.js'
export { type Gate, gate, until } from './wait.js'
