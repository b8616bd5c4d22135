/** The web console: its server, and the types that its page and its server exchange. */

// Serve the console

export {
  type Console,
  type ConsoleOptions,
  createConsole,
  type ServeConsoleOptions,
  type ServedConsole,
  serveConsole,
} from './create-console.js'

// Exchanged by the page and its server

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
