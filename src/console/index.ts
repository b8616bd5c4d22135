// Running the console

// What its page and its server part say to each other
export {
  type CallSummary,
  type CallView,
  type CardView,
  type ConsoleSession,
  type CredentialKind,
  callHeader,
  consoleHeader,
  type DeadLetterView,
  type GivenCredential,
  type InboxDelivery,
  type LoginView,
  type NamedAgent,
  type ProbeStep,
  type ProbeView,
  type SessionRefusal,
  type TabEvent,
  tabHeader,
  type WireLine,
} from './console-api.js'
export { type Console, type ConsoleOptions, createConsole } from './create-console.js'
export { type ServeConsoleOptions, type ServedConsole, serveConsole } from './serve-console.js'
