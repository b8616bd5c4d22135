// Made from a2a_v1.proto by scripts/gen.mjs: edit that and run `npm run gen`.
import type { BinaryReader } from '@bufbuild/protobuf/wire'
import type { JsonValue, Struct } from '../../../model/part.js'
import { enumName, enumNumber, finish, readBase64, readEntry, readStruct, readTimestamp, readValue, skip, writeStruct, writeTimestamp, writeValue } from '../wire.js'
import type { Writer } from '../wire.js'

const TaskState = ['TASK_STATE_UNSPECIFIED', 'TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELED', 'TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_REJECTED', 'TASK_STATE_AUTH_REQUIRED'] as const

const Role = ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT'] as const

export interface SendMessageConfiguration {
  acceptedOutputModes?: string[]
  taskPushNotificationConfig?: TaskPushNotificationConfig
  historyLength?: number
  returnImmediately?: boolean
}

export function writeSendMessageConfiguration(m: SendMessageConfiguration, w: Writer): void {
  if (m.acceptedOutputModes) for (const each of m.acceptedOutputModes) w.uint32(10).string(each)
  if (m.taskPushNotificationConfig !== undefined) { w.uint32(18).fork(); writeTaskPushNotificationConfig(m.taskPushNotificationConfig, w); w.join() }
  if (m.historyLength !== undefined) w.uint32(24).int32(m.historyLength)
  if (m.returnImmediately) w.uint32(32).bool(m.returnImmediately)
}

export function readSendMessageConfiguration(r: BinaryReader, end: number, m: SendMessageConfiguration = {}): SendMessageConfiguration {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: (m.acceptedOutputModes ??= []).push(r.string(true)); break
      case 18: m.taskPushNotificationConfig = readTaskPushNotificationConfig(r, r.uint32() + r.pos, m.taskPushNotificationConfig); break
      case 24: m.historyLength = r.int32(); break
      case 32: m.returnImmediately = r.bool(); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface Task {
  id?: string
  contextId?: string
  status?: TaskStatus
  artifacts?: Artifact[]
  history?: Message[]
  metadata?: Struct
}

export function writeTask(m: Task, w: Writer): void {
  if (m.id) w.uint32(10).string(m.id)
  if (m.contextId) w.uint32(18).string(m.contextId)
  if (m.status !== undefined) { w.uint32(26).fork(); writeTaskStatus(m.status, w); w.join() }
  if (m.artifacts) for (const each of m.artifacts) { w.uint32(34).fork(); writeArtifact(each, w); w.join() }
  if (m.history) for (const each of m.history) { w.uint32(42).fork(); writeMessage(each, w); w.join() }
  if (m.metadata !== undefined) { w.uint32(50).fork(); writeStruct(m.metadata, w); w.join() }
}

export function readTask(r: BinaryReader, end: number, m: Task = {}): Task {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.id = r.string(true); break
      case 18: m.contextId = r.string(true); break
      case 26: m.status = readTaskStatus(r, r.uint32() + r.pos, m.status); break
      case 34: (m.artifacts ??= []).push(readArtifact(r, r.uint32() + r.pos)); break
      case 42: (m.history ??= []).push(readMessage(r, r.uint32() + r.pos)); break
      case 50: m.metadata = readStruct(r, r.uint32() + r.pos); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface TaskStatus {
  state?: string | number
  message?: Message
  timestamp?: string
}

export function writeTaskStatus(m: TaskStatus, w: Writer): void {
  if (m.state) w.uint32(8).int32(enumNumber(TaskState, m.state))
  if (m.message !== undefined) { w.uint32(18).fork(); writeMessage(m.message, w); w.join() }
  if (m.timestamp !== undefined) { w.uint32(26).fork(); writeTimestamp(m.timestamp, w); w.join() }
}

export function readTaskStatus(r: BinaryReader, end: number, m: TaskStatus = {}): TaskStatus {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 8: m.state = enumName(TaskState, r.int32()); break
      case 18: m.message = readMessage(r, r.uint32() + r.pos, m.message); break
      case 26: m.timestamp = readTimestamp(r, r.uint32() + r.pos); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface Part {
  text?: string
  raw?: string
  url?: string
  data?: JsonValue
  metadata?: Struct
  filename?: string
  mediaType?: string
}

export function writePart(m: Part, w: Writer): void {
  if (m.text !== undefined) w.uint32(10).string(m.text)
  if (m.raw !== undefined) w.uint32(18).bytes(m.raw)
  if (m.url !== undefined) w.uint32(26).string(m.url)
  if (m.data !== undefined) { w.uint32(34).fork(); writeValue(m.data, w); w.join() }
  if (m.metadata !== undefined) { w.uint32(42).fork(); writeStruct(m.metadata, w); w.join() }
  if (m.filename) w.uint32(50).string(m.filename)
  if (m.mediaType) w.uint32(58).string(m.mediaType)
}

export function readPart(r: BinaryReader, end: number, m: Part = {}): Part {
  let content: keyof Part | undefined
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: if (content && content !== 'text') delete m[content]; content = 'text'; m.text = r.string(true); break
      case 18: if (content && content !== 'raw') delete m[content]; content = 'raw'; m.raw = readBase64(r); break
      case 26: if (content && content !== 'url') delete m[content]; content = 'url'; m.url = r.string(true); break
      case 34: if (content && content !== 'data') delete m[content]; content = 'data'; m.data = readValue(r, r.uint32() + r.pos); break
      case 42: m.metadata = readStruct(r, r.uint32() + r.pos); break
      case 50: m.filename = r.string(true); break
      case 58: m.mediaType = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface Message {
  messageId?: string
  contextId?: string
  taskId?: string
  role?: string | number
  parts?: Part[]
  metadata?: Struct
  extensions?: string[]
  referenceTaskIds?: string[]
}

export function writeMessage(m: Message, w: Writer): void {
  if (m.messageId) w.uint32(10).string(m.messageId)
  if (m.contextId) w.uint32(18).string(m.contextId)
  if (m.taskId) w.uint32(26).string(m.taskId)
  if (m.role) w.uint32(32).int32(enumNumber(Role, m.role))
  if (m.parts) for (const each of m.parts) { w.uint32(42).fork(); writePart(each, w); w.join() }
  if (m.metadata !== undefined) { w.uint32(50).fork(); writeStruct(m.metadata, w); w.join() }
  if (m.extensions) for (const each of m.extensions) w.uint32(58).string(each)
  if (m.referenceTaskIds) for (const each of m.referenceTaskIds) w.uint32(66).string(each)
}

export function readMessage(r: BinaryReader, end: number, m: Message = {}): Message {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.messageId = r.string(true); break
      case 18: m.contextId = r.string(true); break
      case 26: m.taskId = r.string(true); break
      case 32: m.role = enumName(Role, r.int32()); break
      case 42: (m.parts ??= []).push(readPart(r, r.uint32() + r.pos)); break
      case 50: m.metadata = readStruct(r, r.uint32() + r.pos); break
      case 58: (m.extensions ??= []).push(r.string(true)); break
      case 66: (m.referenceTaskIds ??= []).push(r.string(true)); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface Artifact {
  artifactId?: string
  name?: string
  description?: string
  parts?: Part[]
  metadata?: Struct
  extensions?: string[]
}

export function writeArtifact(m: Artifact, w: Writer): void {
  if (m.artifactId) w.uint32(10).string(m.artifactId)
  if (m.name) w.uint32(18).string(m.name)
  if (m.description) w.uint32(26).string(m.description)
  if (m.parts) for (const each of m.parts) { w.uint32(34).fork(); writePart(each, w); w.join() }
  if (m.metadata !== undefined) { w.uint32(42).fork(); writeStruct(m.metadata, w); w.join() }
  if (m.extensions) for (const each of m.extensions) w.uint32(50).string(each)
}

export function readArtifact(r: BinaryReader, end: number, m: Artifact = {}): Artifact {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.artifactId = r.string(true); break
      case 18: m.name = r.string(true); break
      case 26: m.description = r.string(true); break
      case 34: (m.parts ??= []).push(readPart(r, r.uint32() + r.pos)); break
      case 42: m.metadata = readStruct(r, r.uint32() + r.pos); break
      case 50: (m.extensions ??= []).push(r.string(true)); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface TaskStatusUpdateEvent {
  taskId?: string
  contextId?: string
  status?: TaskStatus
  metadata?: Struct
}

export function writeTaskStatusUpdateEvent(m: TaskStatusUpdateEvent, w: Writer): void {
  if (m.taskId) w.uint32(10).string(m.taskId)
  if (m.contextId) w.uint32(18).string(m.contextId)
  if (m.status !== undefined) { w.uint32(26).fork(); writeTaskStatus(m.status, w); w.join() }
  if (m.metadata !== undefined) { w.uint32(34).fork(); writeStruct(m.metadata, w); w.join() }
}

export function readTaskStatusUpdateEvent(r: BinaryReader, end: number, m: TaskStatusUpdateEvent = {}): TaskStatusUpdateEvent {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.taskId = r.string(true); break
      case 18: m.contextId = r.string(true); break
      case 26: m.status = readTaskStatus(r, r.uint32() + r.pos, m.status); break
      case 34: m.metadata = readStruct(r, r.uint32() + r.pos); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface TaskArtifactUpdateEvent {
  taskId?: string
  contextId?: string
  artifact?: Artifact
  append?: boolean
  lastChunk?: boolean
  metadata?: Struct
}

export function writeTaskArtifactUpdateEvent(m: TaskArtifactUpdateEvent, w: Writer): void {
  if (m.taskId) w.uint32(10).string(m.taskId)
  if (m.contextId) w.uint32(18).string(m.contextId)
  if (m.artifact !== undefined) { w.uint32(26).fork(); writeArtifact(m.artifact, w); w.join() }
  if (m.append) w.uint32(32).bool(m.append)
  if (m.lastChunk) w.uint32(40).bool(m.lastChunk)
  if (m.metadata !== undefined) { w.uint32(50).fork(); writeStruct(m.metadata, w); w.join() }
}

export function readTaskArtifactUpdateEvent(r: BinaryReader, end: number, m: TaskArtifactUpdateEvent = {}): TaskArtifactUpdateEvent {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.taskId = r.string(true); break
      case 18: m.contextId = r.string(true); break
      case 26: m.artifact = readArtifact(r, r.uint32() + r.pos, m.artifact); break
      case 32: m.append = r.bool(); break
      case 40: m.lastChunk = r.bool(); break
      case 50: m.metadata = readStruct(r, r.uint32() + r.pos); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface AuthenticationInfo {
  scheme?: string
  credentials?: string
}

export function writeAuthenticationInfo(m: AuthenticationInfo, w: Writer): void {
  if (m.scheme) w.uint32(10).string(m.scheme)
  if (m.credentials) w.uint32(18).string(m.credentials)
}

export function readAuthenticationInfo(r: BinaryReader, end: number, m: AuthenticationInfo = {}): AuthenticationInfo {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.scheme = r.string(true); break
      case 18: m.credentials = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface AgentInterface {
  url?: string
  protocolBinding?: string
  tenant?: string
  protocolVersion?: string
}

export function writeAgentInterface(m: AgentInterface, w: Writer): void {
  if (m.url) w.uint32(10).string(m.url)
  if (m.protocolBinding) w.uint32(18).string(m.protocolBinding)
  if (m.tenant) w.uint32(26).string(m.tenant)
  if (m.protocolVersion) w.uint32(34).string(m.protocolVersion)
}

export function readAgentInterface(r: BinaryReader, end: number, m: AgentInterface = {}): AgentInterface {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.url = r.string(true); break
      case 18: m.protocolBinding = r.string(true); break
      case 26: m.tenant = r.string(true); break
      case 34: m.protocolVersion = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface AgentCard {
  name?: string
  description?: string
  supportedInterfaces?: AgentInterface[]
  provider?: AgentProvider
  version?: string
  documentationUrl?: string
  capabilities?: AgentCapabilities
  securitySchemes?: Record<string, SecurityScheme>
  securityRequirements?: SecurityRequirement[]
  defaultInputModes?: string[]
  defaultOutputModes?: string[]
  skills?: AgentSkill[]
  signatures?: AgentCardSignature[]
  iconUrl?: string
}

export function writeAgentCard(m: AgentCard, w: Writer): void {
  if (m.name) w.uint32(10).string(m.name)
  if (m.description) w.uint32(18).string(m.description)
  if (m.supportedInterfaces) for (const each of m.supportedInterfaces) { w.uint32(26).fork(); writeAgentInterface(each, w); w.join() }
  if (m.provider !== undefined) { w.uint32(34).fork(); writeAgentProvider(m.provider, w); w.join() }
  if (m.version) w.uint32(42).string(m.version)
  if (m.documentationUrl !== undefined) w.uint32(50).string(m.documentationUrl)
  if (m.capabilities !== undefined) { w.uint32(58).fork(); writeAgentCapabilities(m.capabilities, w); w.join() }
  if (m.securitySchemes) for (const [key, each] of Object.entries(m.securitySchemes)) {
    w.uint32(66).fork().uint32(10).string(key)
    { w.uint32(18).fork(); writeSecurityScheme(each, w); w.join() }
    w.join()
  }
  if (m.securityRequirements) for (const each of m.securityRequirements) { w.uint32(74).fork(); writeSecurityRequirement(each, w); w.join() }
  if (m.defaultInputModes) for (const each of m.defaultInputModes) w.uint32(82).string(each)
  if (m.defaultOutputModes) for (const each of m.defaultOutputModes) w.uint32(90).string(each)
  if (m.skills) for (const each of m.skills) { w.uint32(98).fork(); writeAgentSkill(each, w); w.join() }
  if (m.signatures) for (const each of m.signatures) { w.uint32(106).fork(); writeAgentCardSignature(each, w); w.join() }
  if (m.iconUrl !== undefined) w.uint32(114).string(m.iconUrl)
}

export function readAgentCard(r: BinaryReader, end: number, m: AgentCard = {}): AgentCard {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.name = r.string(true); break
      case 18: m.description = r.string(true); break
      case 26: (m.supportedInterfaces ??= []).push(readAgentInterface(r, r.uint32() + r.pos)); break
      case 34: m.provider = readAgentProvider(r, r.uint32() + r.pos, m.provider); break
      case 42: m.version = r.string(true); break
      case 50: m.documentationUrl = r.string(true); break
      case 58: m.capabilities = readAgentCapabilities(r, r.uint32() + r.pos, m.capabilities); break
      case 66: readEntry(r, r.uint32() + r.pos, (m.securitySchemes ??= {}), () => readSecurityScheme(r, r.uint32() + r.pos), {}); break
      case 74: (m.securityRequirements ??= []).push(readSecurityRequirement(r, r.uint32() + r.pos)); break
      case 82: (m.defaultInputModes ??= []).push(r.string(true)); break
      case 90: (m.defaultOutputModes ??= []).push(r.string(true)); break
      case 98: (m.skills ??= []).push(readAgentSkill(r, r.uint32() + r.pos)); break
      case 106: (m.signatures ??= []).push(readAgentCardSignature(r, r.uint32() + r.pos)); break
      case 114: m.iconUrl = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface AgentProvider {
  url?: string
  organization?: string
}

export function writeAgentProvider(m: AgentProvider, w: Writer): void {
  if (m.url) w.uint32(10).string(m.url)
  if (m.organization) w.uint32(18).string(m.organization)
}

export function readAgentProvider(r: BinaryReader, end: number, m: AgentProvider = {}): AgentProvider {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.url = r.string(true); break
      case 18: m.organization = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface AgentCapabilities {
  streaming?: boolean
  pushNotifications?: boolean
  extensions?: AgentExtension[]
  extendedAgentCard?: boolean
}

export function writeAgentCapabilities(m: AgentCapabilities, w: Writer): void {
  if (m.streaming !== undefined) w.uint32(8).bool(m.streaming)
  if (m.pushNotifications !== undefined) w.uint32(16).bool(m.pushNotifications)
  if (m.extensions) for (const each of m.extensions) { w.uint32(26).fork(); writeAgentExtension(each, w); w.join() }
  if (m.extendedAgentCard !== undefined) w.uint32(32).bool(m.extendedAgentCard)
}

export function readAgentCapabilities(r: BinaryReader, end: number, m: AgentCapabilities = {}): AgentCapabilities {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 8: m.streaming = r.bool(); break
      case 16: m.pushNotifications = r.bool(); break
      case 26: (m.extensions ??= []).push(readAgentExtension(r, r.uint32() + r.pos)); break
      case 32: m.extendedAgentCard = r.bool(); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface AgentExtension {
  uri?: string
  description?: string
  required?: boolean
  params?: Struct
}

export function writeAgentExtension(m: AgentExtension, w: Writer): void {
  if (m.uri) w.uint32(10).string(m.uri)
  if (m.description) w.uint32(18).string(m.description)
  if (m.required) w.uint32(24).bool(m.required)
  if (m.params !== undefined) { w.uint32(34).fork(); writeStruct(m.params, w); w.join() }
}

export function readAgentExtension(r: BinaryReader, end: number, m: AgentExtension = {}): AgentExtension {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.uri = r.string(true); break
      case 18: m.description = r.string(true); break
      case 24: m.required = r.bool(); break
      case 34: m.params = readStruct(r, r.uint32() + r.pos); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface AgentSkill {
  id?: string
  name?: string
  description?: string
  tags?: string[]
  examples?: string[]
  inputModes?: string[]
  outputModes?: string[]
  securityRequirements?: SecurityRequirement[]
}

export function writeAgentSkill(m: AgentSkill, w: Writer): void {
  if (m.id) w.uint32(10).string(m.id)
  if (m.name) w.uint32(18).string(m.name)
  if (m.description) w.uint32(26).string(m.description)
  if (m.tags) for (const each of m.tags) w.uint32(34).string(each)
  if (m.examples) for (const each of m.examples) w.uint32(42).string(each)
  if (m.inputModes) for (const each of m.inputModes) w.uint32(50).string(each)
  if (m.outputModes) for (const each of m.outputModes) w.uint32(58).string(each)
  if (m.securityRequirements) for (const each of m.securityRequirements) { w.uint32(66).fork(); writeSecurityRequirement(each, w); w.join() }
}

export function readAgentSkill(r: BinaryReader, end: number, m: AgentSkill = {}): AgentSkill {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.id = r.string(true); break
      case 18: m.name = r.string(true); break
      case 26: m.description = r.string(true); break
      case 34: (m.tags ??= []).push(r.string(true)); break
      case 42: (m.examples ??= []).push(r.string(true)); break
      case 50: (m.inputModes ??= []).push(r.string(true)); break
      case 58: (m.outputModes ??= []).push(r.string(true)); break
      case 66: (m.securityRequirements ??= []).push(readSecurityRequirement(r, r.uint32() + r.pos)); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface AgentCardSignature {
  protected?: string
  signature?: string
  header?: Struct
}

export function writeAgentCardSignature(m: AgentCardSignature, w: Writer): void {
  if (m.protected) w.uint32(10).string(m.protected)
  if (m.signature) w.uint32(18).string(m.signature)
  if (m.header !== undefined) { w.uint32(26).fork(); writeStruct(m.header, w); w.join() }
}

export function readAgentCardSignature(r: BinaryReader, end: number, m: AgentCardSignature = {}): AgentCardSignature {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.protected = r.string(true); break
      case 18: m.signature = r.string(true); break
      case 26: m.header = readStruct(r, r.uint32() + r.pos); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface TaskPushNotificationConfig {
  tenant?: string
  id?: string
  taskId?: string
  url?: string
  token?: string
  authentication?: AuthenticationInfo
}

export function writeTaskPushNotificationConfig(m: TaskPushNotificationConfig, w: Writer): void {
  if (m.tenant) w.uint32(10).string(m.tenant)
  if (m.id) w.uint32(18).string(m.id)
  if (m.taskId) w.uint32(26).string(m.taskId)
  if (m.url) w.uint32(34).string(m.url)
  if (m.token) w.uint32(42).string(m.token)
  if (m.authentication !== undefined) { w.uint32(50).fork(); writeAuthenticationInfo(m.authentication, w); w.join() }
}

export function readTaskPushNotificationConfig(r: BinaryReader, end: number, m: TaskPushNotificationConfig = {}): TaskPushNotificationConfig {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.tenant = r.string(true); break
      case 18: m.id = r.string(true); break
      case 26: m.taskId = r.string(true); break
      case 34: m.url = r.string(true); break
      case 42: m.token = r.string(true); break
      case 50: m.authentication = readAuthenticationInfo(r, r.uint32() + r.pos, m.authentication); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface StringList {
  list?: string[]
}

export function writeStringList(m: StringList, w: Writer): void {
  if (m.list) for (const each of m.list) w.uint32(10).string(each)
}

export function readStringList(r: BinaryReader, end: number, m: StringList = {}): StringList {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: (m.list ??= []).push(r.string(true)); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface SecurityRequirement {
  schemes?: Record<string, StringList>
}

export function writeSecurityRequirement(m: SecurityRequirement, w: Writer): void {
  if (m.schemes) for (const [key, each] of Object.entries(m.schemes)) {
    w.uint32(10).fork().uint32(10).string(key)
    { w.uint32(18).fork(); writeStringList(each, w); w.join() }
    w.join()
  }
}

export function readSecurityRequirement(r: BinaryReader, end: number, m: SecurityRequirement = {}): SecurityRequirement {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: readEntry(r, r.uint32() + r.pos, (m.schemes ??= {}), () => readStringList(r, r.uint32() + r.pos), {}); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface SecurityScheme {
  apiKeySecurityScheme?: APIKeySecurityScheme
  httpAuthSecurityScheme?: HTTPAuthSecurityScheme
  oauth2SecurityScheme?: OAuth2SecurityScheme
  openIdConnectSecurityScheme?: OpenIdConnectSecurityScheme
  mtlsSecurityScheme?: MutualTlsSecurityScheme
}

export function writeSecurityScheme(m: SecurityScheme, w: Writer): void {
  if (m.apiKeySecurityScheme !== undefined) { w.uint32(10).fork(); writeAPIKeySecurityScheme(m.apiKeySecurityScheme, w); w.join() }
  if (m.httpAuthSecurityScheme !== undefined) { w.uint32(18).fork(); writeHTTPAuthSecurityScheme(m.httpAuthSecurityScheme, w); w.join() }
  if (m.oauth2SecurityScheme !== undefined) { w.uint32(26).fork(); writeOAuth2SecurityScheme(m.oauth2SecurityScheme, w); w.join() }
  if (m.openIdConnectSecurityScheme !== undefined) { w.uint32(34).fork(); writeOpenIdConnectSecurityScheme(m.openIdConnectSecurityScheme, w); w.join() }
  if (m.mtlsSecurityScheme !== undefined) { w.uint32(42).fork(); writeMutualTlsSecurityScheme(m.mtlsSecurityScheme, w); w.join() }
}

export function readSecurityScheme(r: BinaryReader, end: number, m: SecurityScheme = {}): SecurityScheme {
  let scheme: keyof SecurityScheme | undefined
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: if (scheme && scheme !== 'apiKeySecurityScheme') delete m[scheme]; scheme = 'apiKeySecurityScheme'; m.apiKeySecurityScheme = readAPIKeySecurityScheme(r, r.uint32() + r.pos, m.apiKeySecurityScheme); break
      case 18: if (scheme && scheme !== 'httpAuthSecurityScheme') delete m[scheme]; scheme = 'httpAuthSecurityScheme'; m.httpAuthSecurityScheme = readHTTPAuthSecurityScheme(r, r.uint32() + r.pos, m.httpAuthSecurityScheme); break
      case 26: if (scheme && scheme !== 'oauth2SecurityScheme') delete m[scheme]; scheme = 'oauth2SecurityScheme'; m.oauth2SecurityScheme = readOAuth2SecurityScheme(r, r.uint32() + r.pos, m.oauth2SecurityScheme); break
      case 34: if (scheme && scheme !== 'openIdConnectSecurityScheme') delete m[scheme]; scheme = 'openIdConnectSecurityScheme'; m.openIdConnectSecurityScheme = readOpenIdConnectSecurityScheme(r, r.uint32() + r.pos, m.openIdConnectSecurityScheme); break
      case 42: if (scheme && scheme !== 'mtlsSecurityScheme') delete m[scheme]; scheme = 'mtlsSecurityScheme'; m.mtlsSecurityScheme = readMutualTlsSecurityScheme(r, r.uint32() + r.pos, m.mtlsSecurityScheme); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface APIKeySecurityScheme {
  description?: string
  location?: string
  name?: string
}

export function writeAPIKeySecurityScheme(m: APIKeySecurityScheme, w: Writer): void {
  if (m.description) w.uint32(10).string(m.description)
  if (m.location) w.uint32(18).string(m.location)
  if (m.name) w.uint32(26).string(m.name)
}

export function readAPIKeySecurityScheme(r: BinaryReader, end: number, m: APIKeySecurityScheme = {}): APIKeySecurityScheme {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.description = r.string(true); break
      case 18: m.location = r.string(true); break
      case 26: m.name = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface HTTPAuthSecurityScheme {
  description?: string
  scheme?: string
  bearerFormat?: string
}

export function writeHTTPAuthSecurityScheme(m: HTTPAuthSecurityScheme, w: Writer): void {
  if (m.description) w.uint32(10).string(m.description)
  if (m.scheme) w.uint32(18).string(m.scheme)
  if (m.bearerFormat) w.uint32(26).string(m.bearerFormat)
}

export function readHTTPAuthSecurityScheme(r: BinaryReader, end: number, m: HTTPAuthSecurityScheme = {}): HTTPAuthSecurityScheme {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.description = r.string(true); break
      case 18: m.scheme = r.string(true); break
      case 26: m.bearerFormat = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface OAuth2SecurityScheme {
  description?: string
  flows?: OAuthFlows
  oauth2MetadataUrl?: string
}

export function writeOAuth2SecurityScheme(m: OAuth2SecurityScheme, w: Writer): void {
  if (m.description) w.uint32(10).string(m.description)
  if (m.flows !== undefined) { w.uint32(18).fork(); writeOAuthFlows(m.flows, w); w.join() }
  if (m.oauth2MetadataUrl) w.uint32(26).string(m.oauth2MetadataUrl)
}

export function readOAuth2SecurityScheme(r: BinaryReader, end: number, m: OAuth2SecurityScheme = {}): OAuth2SecurityScheme {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.description = r.string(true); break
      case 18: m.flows = readOAuthFlows(r, r.uint32() + r.pos, m.flows); break
      case 26: m.oauth2MetadataUrl = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface OpenIdConnectSecurityScheme {
  description?: string
  openIdConnectUrl?: string
}

export function writeOpenIdConnectSecurityScheme(m: OpenIdConnectSecurityScheme, w: Writer): void {
  if (m.description) w.uint32(10).string(m.description)
  if (m.openIdConnectUrl) w.uint32(18).string(m.openIdConnectUrl)
}

export function readOpenIdConnectSecurityScheme(r: BinaryReader, end: number, m: OpenIdConnectSecurityScheme = {}): OpenIdConnectSecurityScheme {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.description = r.string(true); break
      case 18: m.openIdConnectUrl = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface MutualTlsSecurityScheme {
  description?: string
}

export function writeMutualTlsSecurityScheme(m: MutualTlsSecurityScheme, w: Writer): void {
  if (m.description) w.uint32(10).string(m.description)
}

export function readMutualTlsSecurityScheme(r: BinaryReader, end: number, m: MutualTlsSecurityScheme = {}): MutualTlsSecurityScheme {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.description = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface OAuthFlows {
  authorizationCode?: AuthorizationCodeOAuthFlow
  clientCredentials?: ClientCredentialsOAuthFlow
  implicit?: ImplicitOAuthFlow
  password?: PasswordOAuthFlow
  deviceCode?: DeviceCodeOAuthFlow
}

export function writeOAuthFlows(m: OAuthFlows, w: Writer): void {
  if (m.authorizationCode !== undefined) { w.uint32(10).fork(); writeAuthorizationCodeOAuthFlow(m.authorizationCode, w); w.join() }
  if (m.clientCredentials !== undefined) { w.uint32(18).fork(); writeClientCredentialsOAuthFlow(m.clientCredentials, w); w.join() }
  if (m.implicit !== undefined) { w.uint32(26).fork(); writeImplicitOAuthFlow(m.implicit, w); w.join() }
  if (m.password !== undefined) { w.uint32(34).fork(); writePasswordOAuthFlow(m.password, w); w.join() }
  if (m.deviceCode !== undefined) { w.uint32(42).fork(); writeDeviceCodeOAuthFlow(m.deviceCode, w); w.join() }
}

export function readOAuthFlows(r: BinaryReader, end: number, m: OAuthFlows = {}): OAuthFlows {
  let flow: keyof OAuthFlows | undefined
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: if (flow && flow !== 'authorizationCode') delete m[flow]; flow = 'authorizationCode'; m.authorizationCode = readAuthorizationCodeOAuthFlow(r, r.uint32() + r.pos, m.authorizationCode); break
      case 18: if (flow && flow !== 'clientCredentials') delete m[flow]; flow = 'clientCredentials'; m.clientCredentials = readClientCredentialsOAuthFlow(r, r.uint32() + r.pos, m.clientCredentials); break
      case 26: if (flow && flow !== 'implicit') delete m[flow]; flow = 'implicit'; m.implicit = readImplicitOAuthFlow(r, r.uint32() + r.pos, m.implicit); break
      case 34: if (flow && flow !== 'password') delete m[flow]; flow = 'password'; m.password = readPasswordOAuthFlow(r, r.uint32() + r.pos, m.password); break
      case 42: if (flow && flow !== 'deviceCode') delete m[flow]; flow = 'deviceCode'; m.deviceCode = readDeviceCodeOAuthFlow(r, r.uint32() + r.pos, m.deviceCode); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface AuthorizationCodeOAuthFlow {
  authorizationUrl?: string
  tokenUrl?: string
  refreshUrl?: string
  scopes?: Record<string, string>
  pkceRequired?: boolean
}

export function writeAuthorizationCodeOAuthFlow(m: AuthorizationCodeOAuthFlow, w: Writer): void {
  if (m.authorizationUrl) w.uint32(10).string(m.authorizationUrl)
  if (m.tokenUrl) w.uint32(18).string(m.tokenUrl)
  if (m.refreshUrl) w.uint32(26).string(m.refreshUrl)
  if (m.scopes) for (const [key, each] of Object.entries(m.scopes)) {
    w.uint32(34).fork().uint32(10).string(key)
    w.uint32(18).string(each)
    w.join()
  }
  if (m.pkceRequired) w.uint32(40).bool(m.pkceRequired)
}

export function readAuthorizationCodeOAuthFlow(r: BinaryReader, end: number, m: AuthorizationCodeOAuthFlow = {}): AuthorizationCodeOAuthFlow {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.authorizationUrl = r.string(true); break
      case 18: m.tokenUrl = r.string(true); break
      case 26: m.refreshUrl = r.string(true); break
      case 34: readEntry(r, r.uint32() + r.pos, (m.scopes ??= {}), () => r.string(true), ''); break
      case 40: m.pkceRequired = r.bool(); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface ClientCredentialsOAuthFlow {
  tokenUrl?: string
  refreshUrl?: string
  scopes?: Record<string, string>
}

export function writeClientCredentialsOAuthFlow(m: ClientCredentialsOAuthFlow, w: Writer): void {
  if (m.tokenUrl) w.uint32(10).string(m.tokenUrl)
  if (m.refreshUrl) w.uint32(18).string(m.refreshUrl)
  if (m.scopes) for (const [key, each] of Object.entries(m.scopes)) {
    w.uint32(26).fork().uint32(10).string(key)
    w.uint32(18).string(each)
    w.join()
  }
}

export function readClientCredentialsOAuthFlow(r: BinaryReader, end: number, m: ClientCredentialsOAuthFlow = {}): ClientCredentialsOAuthFlow {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.tokenUrl = r.string(true); break
      case 18: m.refreshUrl = r.string(true); break
      case 26: readEntry(r, r.uint32() + r.pos, (m.scopes ??= {}), () => r.string(true), ''); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface ImplicitOAuthFlow {
  authorizationUrl?: string
  refreshUrl?: string
  scopes?: Record<string, string>
}

export function writeImplicitOAuthFlow(m: ImplicitOAuthFlow, w: Writer): void {
  if (m.authorizationUrl) w.uint32(10).string(m.authorizationUrl)
  if (m.refreshUrl) w.uint32(18).string(m.refreshUrl)
  if (m.scopes) for (const [key, each] of Object.entries(m.scopes)) {
    w.uint32(26).fork().uint32(10).string(key)
    w.uint32(18).string(each)
    w.join()
  }
}

export function readImplicitOAuthFlow(r: BinaryReader, end: number, m: ImplicitOAuthFlow = {}): ImplicitOAuthFlow {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.authorizationUrl = r.string(true); break
      case 18: m.refreshUrl = r.string(true); break
      case 26: readEntry(r, r.uint32() + r.pos, (m.scopes ??= {}), () => r.string(true), ''); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface PasswordOAuthFlow {
  tokenUrl?: string
  refreshUrl?: string
  scopes?: Record<string, string>
}

export function writePasswordOAuthFlow(m: PasswordOAuthFlow, w: Writer): void {
  if (m.tokenUrl) w.uint32(10).string(m.tokenUrl)
  if (m.refreshUrl) w.uint32(18).string(m.refreshUrl)
  if (m.scopes) for (const [key, each] of Object.entries(m.scopes)) {
    w.uint32(26).fork().uint32(10).string(key)
    w.uint32(18).string(each)
    w.join()
  }
}

export function readPasswordOAuthFlow(r: BinaryReader, end: number, m: PasswordOAuthFlow = {}): PasswordOAuthFlow {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.tokenUrl = r.string(true); break
      case 18: m.refreshUrl = r.string(true); break
      case 26: readEntry(r, r.uint32() + r.pos, (m.scopes ??= {}), () => r.string(true), ''); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface DeviceCodeOAuthFlow {
  deviceAuthorizationUrl?: string
  tokenUrl?: string
  refreshUrl?: string
  scopes?: Record<string, string>
}

export function writeDeviceCodeOAuthFlow(m: DeviceCodeOAuthFlow, w: Writer): void {
  if (m.deviceAuthorizationUrl) w.uint32(10).string(m.deviceAuthorizationUrl)
  if (m.tokenUrl) w.uint32(18).string(m.tokenUrl)
  if (m.refreshUrl) w.uint32(26).string(m.refreshUrl)
  if (m.scopes) for (const [key, each] of Object.entries(m.scopes)) {
    w.uint32(34).fork().uint32(10).string(key)
    w.uint32(18).string(each)
    w.join()
  }
}

export function readDeviceCodeOAuthFlow(r: BinaryReader, end: number, m: DeviceCodeOAuthFlow = {}): DeviceCodeOAuthFlow {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.deviceAuthorizationUrl = r.string(true); break
      case 18: m.tokenUrl = r.string(true); break
      case 26: m.refreshUrl = r.string(true); break
      case 34: readEntry(r, r.uint32() + r.pos, (m.scopes ??= {}), () => r.string(true), ''); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface SendMessageRequest {
  tenant?: string
  message?: Message
  configuration?: SendMessageConfiguration
  metadata?: Struct
}

export function writeSendMessageRequest(m: SendMessageRequest, w: Writer): void {
  if (m.tenant) w.uint32(10).string(m.tenant)
  if (m.message !== undefined) { w.uint32(18).fork(); writeMessage(m.message, w); w.join() }
  if (m.configuration !== undefined) { w.uint32(26).fork(); writeSendMessageConfiguration(m.configuration, w); w.join() }
  if (m.metadata !== undefined) { w.uint32(34).fork(); writeStruct(m.metadata, w); w.join() }
}

export function readSendMessageRequest(r: BinaryReader, end: number, m: SendMessageRequest = {}): SendMessageRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.tenant = r.string(true); break
      case 18: m.message = readMessage(r, r.uint32() + r.pos, m.message); break
      case 26: m.configuration = readSendMessageConfiguration(r, r.uint32() + r.pos, m.configuration); break
      case 34: m.metadata = readStruct(r, r.uint32() + r.pos); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface GetTaskRequest {
  tenant?: string
  id?: string
  historyLength?: number
}

export function writeGetTaskRequest(m: GetTaskRequest, w: Writer): void {
  if (m.tenant) w.uint32(10).string(m.tenant)
  if (m.id) w.uint32(18).string(m.id)
  if (m.historyLength !== undefined) w.uint32(24).int32(m.historyLength)
}

export function readGetTaskRequest(r: BinaryReader, end: number, m: GetTaskRequest = {}): GetTaskRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.tenant = r.string(true); break
      case 18: m.id = r.string(true); break
      case 24: m.historyLength = r.int32(); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface ListTasksRequest {
  tenant?: string
  contextId?: string
  status?: string | number
  pageSize?: number
  pageToken?: string
  historyLength?: number
  statusTimestampAfter?: string
  includeArtifacts?: boolean
}

export function writeListTasksRequest(m: ListTasksRequest, w: Writer): void {
  if (m.tenant) w.uint32(10).string(m.tenant)
  if (m.contextId) w.uint32(18).string(m.contextId)
  if (m.status) w.uint32(24).int32(enumNumber(TaskState, m.status))
  if (m.pageSize !== undefined) w.uint32(32).int32(m.pageSize)
  if (m.pageToken) w.uint32(42).string(m.pageToken)
  if (m.historyLength !== undefined) w.uint32(48).int32(m.historyLength)
  if (m.statusTimestampAfter !== undefined) { w.uint32(58).fork(); writeTimestamp(m.statusTimestampAfter, w); w.join() }
  if (m.includeArtifacts !== undefined) w.uint32(64).bool(m.includeArtifacts)
}

export function readListTasksRequest(r: BinaryReader, end: number, m: ListTasksRequest = {}): ListTasksRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.tenant = r.string(true); break
      case 18: m.contextId = r.string(true); break
      case 24: m.status = enumName(TaskState, r.int32()); break
      case 32: m.pageSize = r.int32(); break
      case 42: m.pageToken = r.string(true); break
      case 48: m.historyLength = r.int32(); break
      case 58: m.statusTimestampAfter = readTimestamp(r, r.uint32() + r.pos); break
      case 64: m.includeArtifacts = r.bool(); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface ListTasksResponse {
  tasks?: Task[]
  nextPageToken?: string
  pageSize?: number
  totalSize?: number
}

export function writeListTasksResponse(m: ListTasksResponse, w: Writer): void {
  if (m.tasks) for (const each of m.tasks) { w.uint32(10).fork(); writeTask(each, w); w.join() }
  if (m.nextPageToken) w.uint32(18).string(m.nextPageToken)
  if (m.pageSize) w.uint32(24).int32(m.pageSize)
  if (m.totalSize) w.uint32(32).int32(m.totalSize)
}

export function readListTasksResponse(r: BinaryReader, end: number, m: ListTasksResponse = {}): ListTasksResponse {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: (m.tasks ??= []).push(readTask(r, r.uint32() + r.pos)); break
      case 18: m.nextPageToken = r.string(true); break
      case 24: m.pageSize = r.int32(); break
      case 32: m.totalSize = r.int32(); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface CancelTaskRequest {
  tenant?: string
  id?: string
  metadata?: Struct
}

export function writeCancelTaskRequest(m: CancelTaskRequest, w: Writer): void {
  if (m.tenant) w.uint32(10).string(m.tenant)
  if (m.id) w.uint32(18).string(m.id)
  if (m.metadata !== undefined) { w.uint32(26).fork(); writeStruct(m.metadata, w); w.join() }
}

export function readCancelTaskRequest(r: BinaryReader, end: number, m: CancelTaskRequest = {}): CancelTaskRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.tenant = r.string(true); break
      case 18: m.id = r.string(true); break
      case 26: m.metadata = readStruct(r, r.uint32() + r.pos); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface GetTaskPushNotificationConfigRequest {
  tenant?: string
  taskId?: string
  id?: string
}

export function writeGetTaskPushNotificationConfigRequest(m: GetTaskPushNotificationConfigRequest, w: Writer): void {
  if (m.tenant) w.uint32(10).string(m.tenant)
  if (m.taskId) w.uint32(18).string(m.taskId)
  if (m.id) w.uint32(26).string(m.id)
}

export function readGetTaskPushNotificationConfigRequest(r: BinaryReader, end: number, m: GetTaskPushNotificationConfigRequest = {}): GetTaskPushNotificationConfigRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.tenant = r.string(true); break
      case 18: m.taskId = r.string(true); break
      case 26: m.id = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface DeleteTaskPushNotificationConfigRequest {
  tenant?: string
  taskId?: string
  id?: string
}

export function writeDeleteTaskPushNotificationConfigRequest(m: DeleteTaskPushNotificationConfigRequest, w: Writer): void {
  if (m.tenant) w.uint32(10).string(m.tenant)
  if (m.taskId) w.uint32(18).string(m.taskId)
  if (m.id) w.uint32(26).string(m.id)
}

export function readDeleteTaskPushNotificationConfigRequest(r: BinaryReader, end: number, m: DeleteTaskPushNotificationConfigRequest = {}): DeleteTaskPushNotificationConfigRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.tenant = r.string(true); break
      case 18: m.taskId = r.string(true); break
      case 26: m.id = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface SubscribeToTaskRequest {
  tenant?: string
  id?: string
}

export function writeSubscribeToTaskRequest(m: SubscribeToTaskRequest, w: Writer): void {
  if (m.tenant) w.uint32(10).string(m.tenant)
  if (m.id) w.uint32(18).string(m.id)
}

export function readSubscribeToTaskRequest(r: BinaryReader, end: number, m: SubscribeToTaskRequest = {}): SubscribeToTaskRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.tenant = r.string(true); break
      case 18: m.id = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface ListTaskPushNotificationConfigsRequest {
  tenant?: string
  taskId?: string
  pageSize?: number
  pageToken?: string
}

export function writeListTaskPushNotificationConfigsRequest(m: ListTaskPushNotificationConfigsRequest, w: Writer): void {
  if (m.tenant) w.uint32(34).string(m.tenant)
  if (m.taskId) w.uint32(10).string(m.taskId)
  if (m.pageSize) w.uint32(16).int32(m.pageSize)
  if (m.pageToken) w.uint32(26).string(m.pageToken)
}

export function readListTaskPushNotificationConfigsRequest(r: BinaryReader, end: number, m: ListTaskPushNotificationConfigsRequest = {}): ListTaskPushNotificationConfigsRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 34: m.tenant = r.string(true); break
      case 10: m.taskId = r.string(true); break
      case 16: m.pageSize = r.int32(); break
      case 26: m.pageToken = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface GetExtendedAgentCardRequest {
  tenant?: string
}

export function writeGetExtendedAgentCardRequest(m: GetExtendedAgentCardRequest, w: Writer): void {
  if (m.tenant) w.uint32(10).string(m.tenant)
}

export function readGetExtendedAgentCardRequest(r: BinaryReader, end: number, m: GetExtendedAgentCardRequest = {}): GetExtendedAgentCardRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.tenant = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface SendMessageResponse {
  task?: Task
  message?: Message
}

export function writeSendMessageResponse(m: SendMessageResponse, w: Writer): void {
  if (m.task !== undefined) { w.uint32(10).fork(); writeTask(m.task, w); w.join() }
  if (m.message !== undefined) { w.uint32(18).fork(); writeMessage(m.message, w); w.join() }
}

export function readSendMessageResponse(r: BinaryReader, end: number, m: SendMessageResponse = {}): SendMessageResponse {
  let payload: keyof SendMessageResponse | undefined
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: if (payload && payload !== 'task') delete m[payload]; payload = 'task'; m.task = readTask(r, r.uint32() + r.pos, m.task); break
      case 18: if (payload && payload !== 'message') delete m[payload]; payload = 'message'; m.message = readMessage(r, r.uint32() + r.pos, m.message); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface StreamResponse {
  task?: Task
  message?: Message
  statusUpdate?: TaskStatusUpdateEvent
  artifactUpdate?: TaskArtifactUpdateEvent
}

export function writeStreamResponse(m: StreamResponse, w: Writer): void {
  if (m.task !== undefined) { w.uint32(10).fork(); writeTask(m.task, w); w.join() }
  if (m.message !== undefined) { w.uint32(18).fork(); writeMessage(m.message, w); w.join() }
  if (m.statusUpdate !== undefined) { w.uint32(26).fork(); writeTaskStatusUpdateEvent(m.statusUpdate, w); w.join() }
  if (m.artifactUpdate !== undefined) { w.uint32(34).fork(); writeTaskArtifactUpdateEvent(m.artifactUpdate, w); w.join() }
}

export function readStreamResponse(r: BinaryReader, end: number, m: StreamResponse = {}): StreamResponse {
  let payload: keyof StreamResponse | undefined
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: if (payload && payload !== 'task') delete m[payload]; payload = 'task'; m.task = readTask(r, r.uint32() + r.pos, m.task); break
      case 18: if (payload && payload !== 'message') delete m[payload]; payload = 'message'; m.message = readMessage(r, r.uint32() + r.pos, m.message); break
      case 26: if (payload && payload !== 'statusUpdate') delete m[payload]; payload = 'statusUpdate'; m.statusUpdate = readTaskStatusUpdateEvent(r, r.uint32() + r.pos, m.statusUpdate); break
      case 34: if (payload && payload !== 'artifactUpdate') delete m[payload]; payload = 'artifactUpdate'; m.artifactUpdate = readTaskArtifactUpdateEvent(r, r.uint32() + r.pos, m.artifactUpdate); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface ListTaskPushNotificationConfigsResponse {
  configs?: TaskPushNotificationConfig[]
  nextPageToken?: string
}

export function writeListTaskPushNotificationConfigsResponse(m: ListTaskPushNotificationConfigsResponse, w: Writer): void {
  if (m.configs) for (const each of m.configs) { w.uint32(10).fork(); writeTaskPushNotificationConfig(each, w); w.join() }
  if (m.nextPageToken) w.uint32(18).string(m.nextPageToken)
}

export function readListTaskPushNotificationConfigsResponse(r: BinaryReader, end: number, m: ListTaskPushNotificationConfigsResponse = {}): ListTaskPushNotificationConfigsResponse {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: (m.configs ??= []).push(readTaskPushNotificationConfig(r, r.uint32() + r.pos)); break
      case 18: m.nextPageToken = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export type Empty = object

export function writeEmpty(_m: Empty, _w: Writer): void {
}

export function readEmpty(r: BinaryReader, end: number, m: Empty = {}): Empty {
  while (r.pos < end) {
    const tag = r.uint32()
    skip(r, tag)
  }
  return finish(r, end, m)
}

export const service = 'lf.a2a.v1.A2AService'

export const rpcs = {
  SendMessage: { request: [readSendMessageRequest, writeSendMessageRequest], response: [readSendMessageResponse, writeSendMessageResponse], isStreaming: false },
  SendStreamingMessage: { request: [readSendMessageRequest, writeSendMessageRequest], response: [readStreamResponse, writeStreamResponse], isStreaming: true },
  GetTask: { request: [readGetTaskRequest, writeGetTaskRequest], response: [readTask, writeTask], isStreaming: false },
  ListTasks: { request: [readListTasksRequest, writeListTasksRequest], response: [readListTasksResponse, writeListTasksResponse], isStreaming: false },
  CancelTask: { request: [readCancelTaskRequest, writeCancelTaskRequest], response: [readTask, writeTask], isStreaming: false },
  SubscribeToTask: { request: [readSubscribeToTaskRequest, writeSubscribeToTaskRequest], response: [readStreamResponse, writeStreamResponse], isStreaming: true },
  CreateTaskPushNotificationConfig: { request: [readTaskPushNotificationConfig, writeTaskPushNotificationConfig], response: [readTaskPushNotificationConfig, writeTaskPushNotificationConfig], isStreaming: false },
  GetTaskPushNotificationConfig: { request: [readGetTaskPushNotificationConfigRequest, writeGetTaskPushNotificationConfigRequest], response: [readTaskPushNotificationConfig, writeTaskPushNotificationConfig], isStreaming: false },
  ListTaskPushNotificationConfigs: { request: [readListTaskPushNotificationConfigsRequest, writeListTaskPushNotificationConfigsRequest], response: [readListTaskPushNotificationConfigsResponse, writeListTaskPushNotificationConfigsResponse], isStreaming: false },
  GetExtendedAgentCard: { request: [readGetExtendedAgentCardRequest, writeGetExtendedAgentCardRequest], response: [readAgentCard, writeAgentCard], isStreaming: false },
  DeleteTaskPushNotificationConfig: { request: [readDeleteTaskPushNotificationConfigRequest, writeDeleteTaskPushNotificationConfigRequest], response: [readEmpty, writeEmpty], isStreaming: false },
  SetTaskPushNotificationConfig: { request: [readTaskPushNotificationConfig, writeTaskPushNotificationConfig], response: [readTaskPushNotificationConfig, writeTaskPushNotificationConfig], isStreaming: false },
  ListTaskPushNotificationConfig: { request: [readListTaskPushNotificationConfigsRequest, writeListTaskPushNotificationConfigsRequest], response: [readListTaskPushNotificationConfigsResponse, writeListTaskPushNotificationConfigsResponse], isStreaming: false },
} as const
