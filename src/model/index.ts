/** The types of the protocol, and values that belong to them. Runs in every runtime, browsers included. */

// Content, tasks and events

export type { Artifact } from './artifact.js'
export type { StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from './event.js'
export type { Message, Role } from './message.js'
export {
  type DataPart,
  data,
  file,
  type JsonValue,
  type Part,
  type RawPart,
  type Struct,
  type TextPart,
  text,
  textOf,
  type UrlPart,
} from './part.js'
export type { AuthenticationInfo, TaskPushNotificationConfig } from './push-config.js'
export { isInterrupted, isTerminal, type Task, type TaskState, type TaskStatus } from './task.js'

// Cards

export type {
  AgentCapabilities,
  AgentCard,
  AgentExtension,
  AgentInterface,
  AgentProvider,
  AgentSkill,
  Binding,
  SecurityRequirement,
  SecurityScheme,
} from './agent-card.js'

// Extensions

export {
  type Approval,
  answerApproval,
  approvals,
  type Decision,
  type Decisions,
  type ToolApproval,
} from './approvals.js'
export {
  type Carrier,
  type DeclaredExtension,
  type Extension,
  type ExtensionInit,
  type ExtensionValue,
  extension,
} from './extension.js'
export { type AgentStep, steps } from './steps.js'
export { type Cost, type Usage, usage } from './usage.js'

// Operations and errors

export { A2AError, type ErrorCode, type ErrorDetails, errorCodes, type FieldViolation } from './errors.js'
export { type Operation, operations } from './operations.js'
export type {
  AgentService,
  CallContext,
  Caller,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetExtendedAgentCardRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageConfiguration,
  SendMessageRequest,
  SendMessageResponse,
  StreamItem,
  SubscribeToTaskRequest,
} from './service.js'
export { TransportError, type TransportFailure } from './transport-error.js'
