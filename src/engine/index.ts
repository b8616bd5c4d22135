/** Running agents without a server, and the contract of stores. */

// Write agents: types of rarely named members

export type { ProvidedCredential } from './admission/provide-credential.js'
export {
  type AbandonedTask,
  type AgentRef,
  type CallAgentOptions,
  type CallResult,
  type CheckpointOptions,
  type Credential,
  type EarlierOptions,
  isAgent,
  type TaskScope,
  type UsageMeter,
} from './agent.js'
export { relayAgent } from './relay-agent.js'
export type { ApproveOptions, MessageOptions } from './yields.js'

// Run an engine

export type { Clock } from '../model/clock.js'
export type { Log, LogEntry } from '../model/log.js'
export type { CanAccess, SharedTask, SharingOperation } from './access.js'
export type { CheckWebhook } from './admission/push-configs.js'
export { createEngine, type Engine, type EngineOptions } from './engine.js'
export type { EngineLimits } from './limits.js'
export type { EngineSettings, PushSecrets, Retention } from './settings.js'
export { systemClock } from './system-clock.js'

// Extend: write a store

export type { EventBody, PrivateEvent, TaskEvent, TurnRequest } from '../model/event.js'
export type {
  PutOptions,
  RecordChange,
  RecordExpiry,
  RecordPage,
  RecordStore,
  StoredRecord,
  WriteOptions,
  WriteOutcome,
} from '../stores/records.js'
export type {
  AgentStats,
  Append,
  AppendOutcome,
  ChangeFeed,
  ClaimedCursor,
  ClaimedTask,
  ClaimRequest,
  Commit,
  CompleteStore,
  CursorClaim,
  CursorClaimRequest,
  CursorSettlement,
  DeadLetter,
  DeadLetterQuery,
  DeliveryStore,
  Expired,
  Expiry,
  IdempotencyKey,
  KeyedSend,
  LeaseClaim,
  LeaseStore,
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
  ViewedTask,
  ViewOptions,
  Visibility,
} from '../stores/store.js'
export { viewTask } from '../stores/views.js'
