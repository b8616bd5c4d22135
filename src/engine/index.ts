// For agent authors

export type { Clock } from '../model/clock.js'
export type { EventBody, PrivateEvent, TaskEvent, TurnRequest } from '../model/event.js'
export type { Log, LogEntry } from '../model/log.js'
export type {
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
  SubscribeToTaskRequest,
} from '../model/service.js'
// For authors of stores
export type {
  Append,
  AppendOutcome,
  ClaimedCursor,
  ClaimedTask,
  ClaimRequest,
  CursorClaim,
  CursorClaimRequest,
  CursorSettlement,
  DeadLetter,
  DeadLetterQuery,
  Expired,
  Expiry,
  IdempotencyKey,
  KeyedSend,
  LeaseClaim,
  ListPage,
  ListQuery,
  LoadedTask,
  NewDeadLetter,
  NewPushConfig,
  Scope,
  Store,
  StoredPushConfig,
  TaskCreation,
  TaskKey,
  TaskRecord,
  Visibility,
} from '../stores/store.js'
export type { CanAccess, SharedTask, SharingOperation } from './access.js'
export type { Credential, ProvidedCredential } from './admission/provide-credential.js'
export type { CheckWebhook, PushSecrets } from './admission/push-configs.js'
export {
  type AbandonedTask,
  type Agent,
  type AgentInit,
  type AgentRef,
  agent,
  type CallResult,
  type Handler,
  type SkillInit,
  type Turn,
} from './agent.js'
// For those who run the engine without a server
export { createEngine, type Engine, type EngineOptions } from './engine.js'
export type { EngineSettings } from './internals.js'
export type { EngineLimits } from './limits.js'
export { relayAgent } from './relay-agent.js'
export type { Retention } from './settings.js'
export { systemClock } from './system-clock.js'
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
} from './yields.js'
