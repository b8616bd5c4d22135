/** Calling agents. Runs in browsers too. */

// Call agents

export type {
  AgentClient,
  Answer,
  CallOptions,
  Choice,
  ClientOperations,
  Conversation,
  MessageInput,
  SendOptions,
  TaskHandle,
  Update,
} from './agent-client.js'
export { type CachedCard, type CardCache, createCardCache } from './card-cache.js'
export { connect } from './connect.js'
export {
  type AgentAddress,
  type AgentName,
  type AttemptHint,
  type ConnectedAgents,
  connectAgents,
} from './connect-agents.js'
export type { CardDocument, ConnectOptions, ConnectTarget, ConnectWarning } from './connect-options.js'
export { collect } from './convenience.js'
export { type ReadTurnOptions, readTurn, type TurnEvent } from './read-turn.js'
export type { CardResolver } from './resolve-name.js'
export type { WireEntry } from './wire-log.js'

// Send credentials

export {
  apiKeyCredential,
  basicCredential,
  bearerCredential,
  type ClientCertificate,
  type CredentialSource,
  type CredentialSources,
  mutualTls,
} from './credentials/credential.js'
export { createTokenStore, type OAuth2Options, oauth2, type TokenStore } from './credentials/oauth2.js'
export type { DeviceCode, RedirectReceiver } from './credentials/oauth2-flows.js'

// Verify signed cards

export type {
  PublicKey,
  SignatureOptions,
  SignaturePolicy,
  Verification,
  VerifyOptions,
} from './verification.js'
export { verifyCard } from './verify-card.js'

// Receive webhooks

export { createPushReceiver, type PushDelivery, type PushReceiverOptions } from './push-receiver.js'

// Answer questions that carry a form

export { fromJsonSchema, type JsonSchema } from '../model/from-json-schema.js'
export { schemaOf } from '../model/question-schema.js'
export {
  exampleAnswer,
  type Field,
  type FieldAnswer,
  type FieldKind,
  fieldsOf,
  formAnswer,
  readField,
} from './question-form.js'

// Use extensions

export {
  type Approval,
  answerApproval,
  approvals,
  type Decision,
  type Decisions,
  type ToolApproval,
} from '../model/approvals.js'
export {
  type Carrier,
  type Extension,
  type ExtensionInit,
  type ExtensionValue,
  extension,
} from '../model/extension.js'
export { type AgentStep, steps } from '../model/steps.js'
export { type Cost, type Usage, usage } from '../model/usage.js'

// The protocol's vocabulary; `dragoman/model` has all of it

export type { AgentCard, AgentInterface, AgentSkill, Binding, SecurityScheme } from '../model/agent-card.js'
export type { Artifact } from '../model/artifact.js'
export { A2AError, type ErrorCode, errorCodes } from '../model/errors.js'
export type { StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '../model/event.js'
export type { Message } from '../model/message.js'
export { data, file, type Part, text, textOf } from '../model/part.js'
export type { AgentService, CallContext, SendMessageRequest, StreamItem } from '../model/service.js'
export { isInterrupted, isTerminal, type Task, type TaskState } from '../model/task.js'
export { TransportError, type TransportFailure } from '../model/transport-error.js'
