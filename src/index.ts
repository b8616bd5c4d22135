// Writing agents

// Serving them
export { apiKey } from './auth/api-key.js'
export { basic } from './auth/basic.js'
export { bearer } from './auth/bearer.js'
export { withFlows } from './auth/flows.js'
export { jwt } from './auth/jwt.js'
export { mtls } from './auth/mtls.js'
export { oidc } from './auth/oidc.js'
export { allOf, withScopes } from './auth/requirement.js'
export type { Credential } from './engine/admission/provide-credential.js'
export {
  type Agent,
  type AgentInit,
  type AgentRef,
  agent,
  type CallAgentOptions,
  type CallResult,
  type CheckpointOptions,
  type Handler,
  isAgent,
  type SkillInit,
  type Turn,
} from './engine/agent.js'
export {
  type ArtifactOptions,
  type AskOptions,
  artifact,
  ask,
  askAuth,
  type Content,
  completed,
  failed,
  rejected,
  reply,
  working,
  type Yield,
} from './engine/yields.js'
// The vocabulary
export type {
  AgentCapabilities,
  AgentCard,
  AgentExtension,
  AgentInterface,
  AgentProvider,
  AgentSkill,
  SecurityRequirement,
  SecurityScheme,
} from './model/agent-card.js'
export type { Artifact } from './model/artifact.js'
export { A2AError, type ErrorCode, type ErrorDetails, errorCodes, type FieldViolation } from './model/errors.js'
export type { StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from './model/event.js'
export type { Message, Role } from './model/message.js'
// For authors of stores and wrappers
export { type Operation, operations } from './model/operations.js'
export type { DataPart, JsonValue, Part, RawPart, Struct, TextPart, UrlPart } from './model/part.js'
export { data, file, text, textOf } from './model/part.js'
export type { AuthenticationInfo, TaskPushNotificationConfig } from './model/push-config.js'
export type { AgentService, CallContext, Caller, StreamItem } from './model/service.js'
export { isInterrupted, isTerminal, type Task, type TaskState, type TaskStatus } from './model/task.js'
// Following addresses that strangers wrote
export { AddressRefused, type AddressRule, type AddressRules, type NameLookup } from './net/address-rules.js'
export { type FetchedFile, type FetchFileOptions, fetchFile } from './net/fetch-file.js'
export {
  createGuardedDialer,
  type DialerOptions,
  type DialerRequest,
  type GuardedDialer,
  type TlsOptions,
} from './net/node-dialer.js'
// Logging in by a browser
export { type LoopbackReceiver, type LoopbackReceiverOptions, listenForRedirect } from './net/node-redirect-receiver.js'
export { type Served, type ServedAgent, type ServeOptions, serve } from './server/serve.js'
export { type Claims, createSigner, type SignatureProfile, type Signer, type SigningOptions } from './signing/signer.js'
export {
  generateSigningKey,
  type KeyMaterial,
  type NamedKey,
  type SigningAlgorithm,
  type SigningKey,
  signingAlgorithms,
} from './signing/signing-key.js'
export { MemoryStore } from './stores/memory.js'
export type { Store } from './stores/store.js'
