// Made from a2a_v0_3.proto by scripts/gen.mjs: edit that and run `npm run gen`.
import type { BinaryReader } from '@bufbuild/protobuf/wire'
import type { Struct } from '../../../model/part.js'
import { enumName, enumNumber, finish, readBase64, readEntry, readStruct, readTimestamp, skip, writeStruct, writeTimestamp } from '../wire.js'
import type { Writer } from '../wire.js'

const TaskState = ['TASK_STATE_UNSPECIFIED', 'TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED', 'TASK_STATE_FAILED', 'TASK_STATE_CANCELLED', 'TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_REJECTED', 'TASK_STATE_AUTH_REQUIRED'] as const

const Role = ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT'] as const

export interface SendMessageConfiguration {
  acceptedOutputModes?: string[]
  pushNotification?: PushNotificationConfig
  historyLength?: number
  blocking?: boolean
}

export function writeSendMessageConfiguration(m: SendMessageConfiguration, w: Writer): void {
  if (m.acceptedOutputModes) for (const each of m.acceptedOutputModes) w.uint32(10).string(each)
  if (m.pushNotification !== undefined) { w.uint32(18).fork(); writePushNotificationConfig(m.pushNotification, w); w.join() }
  if (m.historyLength) w.uint32(24).int32(m.historyLength)
  if (m.blocking) w.uint32(32).bool(m.blocking)
}

export function readSendMessageConfiguration(r: BinaryReader, end: number, m: SendMessageConfiguration = {}): SendMessageConfiguration {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: (m.acceptedOutputModes ??= []).push(r.string(true)); break
      case 18: m.pushNotification = readPushNotificationConfig(r, r.uint32() + r.pos, m.pushNotification); break
      case 24: m.historyLength = r.int32(); break
      case 32: m.blocking = r.bool(); break
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
  update?: Message
  timestamp?: string
}

export function writeTaskStatus(m: TaskStatus, w: Writer): void {
  if (m.state) w.uint32(8).int32(enumNumber(TaskState, m.state))
  if (m.update !== undefined) { w.uint32(18).fork(); writeMessage(m.update, w); w.join() }
  if (m.timestamp !== undefined) { w.uint32(26).fork(); writeTimestamp(m.timestamp, w); w.join() }
}

export function readTaskStatus(r: BinaryReader, end: number, m: TaskStatus = {}): TaskStatus {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 8: m.state = enumName(TaskState, r.int32()); break
      case 18: m.update = readMessage(r, r.uint32() + r.pos, m.update); break
      case 26: m.timestamp = readTimestamp(r, r.uint32() + r.pos); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface Part {
  text?: string
  file?: FilePart
  data?: DataPart
  metadata?: Struct
}

export function writePart(m: Part, w: Writer): void {
  if (m.text !== undefined) w.uint32(10).string(m.text)
  if (m.file !== undefined) { w.uint32(18).fork(); writeFilePart(m.file, w); w.join() }
  if (m.data !== undefined) { w.uint32(26).fork(); writeDataPart(m.data, w); w.join() }
  if (m.metadata !== undefined) { w.uint32(34).fork(); writeStruct(m.metadata, w); w.join() }
}

export function readPart(r: BinaryReader, end: number, m: Part = {}): Part {
  let part: keyof Part | undefined
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: if (part && part !== 'text') delete m[part]; part = 'text'; m.text = r.string(true); break
      case 18: if (part && part !== 'file') delete m[part]; part = 'file'; m.file = readFilePart(r, r.uint32() + r.pos, m.file); break
      case 26: if (part && part !== 'data') delete m[part]; part = 'data'; m.data = readDataPart(r, r.uint32() + r.pos, m.data); break
      case 34: m.metadata = readStruct(r, r.uint32() + r.pos); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface FilePart {
  fileWithUri?: string
  fileWithBytes?: string
  mimeType?: string
  name?: string
}

export function writeFilePart(m: FilePart, w: Writer): void {
  if (m.fileWithUri !== undefined) w.uint32(10).string(m.fileWithUri)
  if (m.fileWithBytes !== undefined) w.uint32(18).bytes(m.fileWithBytes)
  if (m.mimeType) w.uint32(26).string(m.mimeType)
  if (m.name) w.uint32(34).string(m.name)
}

export function readFilePart(r: BinaryReader, end: number, m: FilePart = {}): FilePart {
  let file: keyof FilePart | undefined
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: if (file && file !== 'fileWithUri') delete m[file]; file = 'fileWithUri'; m.fileWithUri = r.string(true); break
      case 18: if (file && file !== 'fileWithBytes') delete m[file]; file = 'fileWithBytes'; m.fileWithBytes = readBase64(r); break
      case 26: m.mimeType = r.string(true); break
      case 34: m.name = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface DataPart {
  data?: Struct
}

export function writeDataPart(m: DataPart, w: Writer): void {
  if (m.data !== undefined) { w.uint32(10).fork(); writeStruct(m.data, w); w.join() }
}

export function readDataPart(r: BinaryReader, end: number, m: DataPart = {}): DataPart {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.data = readStruct(r, r.uint32() + r.pos); break
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
  content?: Part[]
  metadata?: Struct
  extensions?: string[]
  referenceTaskIds?: string[]
}

export function writeMessage(m: Message, w: Writer): void {
  if (m.messageId) w.uint32(10).string(m.messageId)
  if (m.contextId) w.uint32(18).string(m.contextId)
  if (m.taskId) w.uint32(26).string(m.taskId)
  if (m.role) w.uint32(32).int32(enumNumber(Role, m.role))
  if (m.content) for (const each of m.content) { w.uint32(42).fork(); writePart(each, w); w.join() }
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
      case 42: (m.content ??= []).push(readPart(r, r.uint32() + r.pos)); break
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
  if (m.name) w.uint32(26).string(m.name)
  if (m.description) w.uint32(34).string(m.description)
  if (m.parts) for (const each of m.parts) { w.uint32(42).fork(); writePart(each, w); w.join() }
  if (m.metadata !== undefined) { w.uint32(50).fork(); writeStruct(m.metadata, w); w.join() }
  if (m.extensions) for (const each of m.extensions) w.uint32(58).string(each)
}

export function readArtifact(r: BinaryReader, end: number, m: Artifact = {}): Artifact {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.artifactId = r.string(true); break
      case 26: m.name = r.string(true); break
      case 34: m.description = r.string(true); break
      case 42: (m.parts ??= []).push(readPart(r, r.uint32() + r.pos)); break
      case 50: m.metadata = readStruct(r, r.uint32() + r.pos); break
      case 58: (m.extensions ??= []).push(r.string(true)); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface TaskStatusUpdateEvent {
  taskId?: string
  contextId?: string
  status?: TaskStatus
  final?: boolean
  metadata?: Struct
}

export function writeTaskStatusUpdateEvent(m: TaskStatusUpdateEvent, w: Writer): void {
  if (m.taskId) w.uint32(10).string(m.taskId)
  if (m.contextId) w.uint32(18).string(m.contextId)
  if (m.status !== undefined) { w.uint32(26).fork(); writeTaskStatus(m.status, w); w.join() }
  if (m.final) w.uint32(32).bool(m.final)
  if (m.metadata !== undefined) { w.uint32(42).fork(); writeStruct(m.metadata, w); w.join() }
}

export function readTaskStatusUpdateEvent(r: BinaryReader, end: number, m: TaskStatusUpdateEvent = {}): TaskStatusUpdateEvent {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.taskId = r.string(true); break
      case 18: m.contextId = r.string(true); break
      case 26: m.status = readTaskStatus(r, r.uint32() + r.pos, m.status); break
      case 32: m.final = r.bool(); break
      case 42: m.metadata = readStruct(r, r.uint32() + r.pos); break
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

export interface PushNotificationConfig {
  id?: string
  url?: string
  token?: string
  authentication?: AuthenticationInfo
}

export function writePushNotificationConfig(m: PushNotificationConfig, w: Writer): void {
  if (m.id) w.uint32(10).string(m.id)
  if (m.url) w.uint32(18).string(m.url)
  if (m.token) w.uint32(26).string(m.token)
  if (m.authentication !== undefined) { w.uint32(34).fork(); writeAuthenticationInfo(m.authentication, w); w.join() }
}

export function readPushNotificationConfig(r: BinaryReader, end: number, m: PushNotificationConfig = {}): PushNotificationConfig {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.id = r.string(true); break
      case 18: m.url = r.string(true); break
      case 26: m.token = r.string(true); break
      case 34: m.authentication = readAuthenticationInfo(r, r.uint32() + r.pos, m.authentication); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface AuthenticationInfo {
  schemes?: string[]
  credentials?: string
}

export function writeAuthenticationInfo(m: AuthenticationInfo, w: Writer): void {
  if (m.schemes) for (const each of m.schemes) w.uint32(10).string(each)
  if (m.credentials) w.uint32(18).string(m.credentials)
}

export function readAuthenticationInfo(r: BinaryReader, end: number, m: AuthenticationInfo = {}): AuthenticationInfo {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: (m.schemes ??= []).push(r.string(true)); break
      case 18: m.credentials = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface AgentInterface {
  url?: string
  transport?: string
}

export function writeAgentInterface(m: AgentInterface, w: Writer): void {
  if (m.url) w.uint32(10).string(m.url)
  if (m.transport) w.uint32(18).string(m.transport)
}

export function readAgentInterface(r: BinaryReader, end: number, m: AgentInterface = {}): AgentInterface {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.url = r.string(true); break
      case 18: m.transport = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface AgentCard {
  protocolVersion?: string
  name?: string
  description?: string
  url?: string
  preferredTransport?: string
  additionalInterfaces?: AgentInterface[]
  provider?: AgentProvider
  version?: string
  documentationUrl?: string
  capabilities?: AgentCapabilities
  securitySchemes?: Record<string, SecurityScheme>
  security?: Security[]
  defaultInputModes?: string[]
  defaultOutputModes?: string[]
  skills?: AgentSkill[]
  supportsAuthenticatedExtendedCard?: boolean
  signatures?: AgentCardSignature[]
  iconUrl?: string
  supportedInterfaces?: AgentInterface[]
}

export function writeAgentCard(m: AgentCard, w: Writer): void {
  if (m.protocolVersion) w.uint32(130).string(m.protocolVersion)
  if (m.name) w.uint32(10).string(m.name)
  if (m.description) w.uint32(18).string(m.description)
  if (m.url) w.uint32(26).string(m.url)
  if (m.preferredTransport) w.uint32(114).string(m.preferredTransport)
  if (m.additionalInterfaces) for (const each of m.additionalInterfaces) { w.uint32(122).fork(); writeAgentInterface(each, w); w.join() }
  if (m.provider !== undefined) { w.uint32(34).fork(); writeAgentProvider(m.provider, w); w.join() }
  if (m.version) w.uint32(42).string(m.version)
  if (m.documentationUrl) w.uint32(50).string(m.documentationUrl)
  if (m.capabilities !== undefined) { w.uint32(58).fork(); writeAgentCapabilities(m.capabilities, w); w.join() }
  if (m.securitySchemes) for (const [key, each] of Object.entries(m.securitySchemes)) {
    w.uint32(66).fork().uint32(10).string(key)
    { w.uint32(18).fork(); writeSecurityScheme(each, w); w.join() }
    w.join()
  }
  if (m.security) for (const each of m.security) { w.uint32(74).fork(); writeSecurity(each, w); w.join() }
  if (m.defaultInputModes) for (const each of m.defaultInputModes) w.uint32(82).string(each)
  if (m.defaultOutputModes) for (const each of m.defaultOutputModes) w.uint32(90).string(each)
  if (m.skills) for (const each of m.skills) { w.uint32(98).fork(); writeAgentSkill(each, w); w.join() }
  if (m.supportsAuthenticatedExtendedCard) w.uint32(104).bool(m.supportsAuthenticatedExtendedCard)
  if (m.signatures) for (const each of m.signatures) { w.uint32(138).fork(); writeAgentCardSignature(each, w); w.join() }
  if (m.iconUrl) w.uint32(146).string(m.iconUrl)
  if (m.supportedInterfaces) for (const each of m.supportedInterfaces) { w.uint32(154).fork(); writeAgentInterface(each, w); w.join() }
}

export function readAgentCard(r: BinaryReader, end: number, m: AgentCard = {}): AgentCard {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 130: m.protocolVersion = r.string(true); break
      case 10: m.name = r.string(true); break
      case 18: m.description = r.string(true); break
      case 26: m.url = r.string(true); break
      case 114: m.preferredTransport = r.string(true); break
      case 122: (m.additionalInterfaces ??= []).push(readAgentInterface(r, r.uint32() + r.pos)); break
      case 34: m.provider = readAgentProvider(r, r.uint32() + r.pos, m.provider); break
      case 42: m.version = r.string(true); break
      case 50: m.documentationUrl = r.string(true); break
      case 58: m.capabilities = readAgentCapabilities(r, r.uint32() + r.pos, m.capabilities); break
      case 66: readEntry(r, r.uint32() + r.pos, (m.securitySchemes ??= {}), () => readSecurityScheme(r, r.uint32() + r.pos), {}); break
      case 74: (m.security ??= []).push(readSecurity(r, r.uint32() + r.pos)); break
      case 82: (m.defaultInputModes ??= []).push(r.string(true)); break
      case 90: (m.defaultOutputModes ??= []).push(r.string(true)); break
      case 98: (m.skills ??= []).push(readAgentSkill(r, r.uint32() + r.pos)); break
      case 104: m.supportsAuthenticatedExtendedCard = r.bool(); break
      case 138: (m.signatures ??= []).push(readAgentCardSignature(r, r.uint32() + r.pos)); break
      case 146: m.iconUrl = r.string(true); break
      case 154: (m.supportedInterfaces ??= []).push(readAgentInterface(r, r.uint32() + r.pos)); break
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
}

export function writeAgentCapabilities(m: AgentCapabilities, w: Writer): void {
  if (m.streaming) w.uint32(8).bool(m.streaming)
  if (m.pushNotifications) w.uint32(16).bool(m.pushNotifications)
  if (m.extensions) for (const each of m.extensions) { w.uint32(26).fork(); writeAgentExtension(each, w); w.join() }
}

export function readAgentCapabilities(r: BinaryReader, end: number, m: AgentCapabilities = {}): AgentCapabilities {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 8: m.streaming = r.bool(); break
      case 16: m.pushNotifications = r.bool(); break
      case 26: (m.extensions ??= []).push(readAgentExtension(r, r.uint32() + r.pos)); break
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
  security?: Security[]
}

export function writeAgentSkill(m: AgentSkill, w: Writer): void {
  if (m.id) w.uint32(10).string(m.id)
  if (m.name) w.uint32(18).string(m.name)
  if (m.description) w.uint32(26).string(m.description)
  if (m.tags) for (const each of m.tags) w.uint32(34).string(each)
  if (m.examples) for (const each of m.examples) w.uint32(42).string(each)
  if (m.inputModes) for (const each of m.inputModes) w.uint32(50).string(each)
  if (m.outputModes) for (const each of m.outputModes) w.uint32(58).string(each)
  if (m.security) for (const each of m.security) { w.uint32(66).fork(); writeSecurity(each, w); w.join() }
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
      case 66: (m.security ??= []).push(readSecurity(r, r.uint32() + r.pos)); break
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
  name?: string
  pushNotificationConfig?: PushNotificationConfig
}

export function writeTaskPushNotificationConfig(m: TaskPushNotificationConfig, w: Writer): void {
  if (m.name) w.uint32(10).string(m.name)
  if (m.pushNotificationConfig !== undefined) { w.uint32(18).fork(); writePushNotificationConfig(m.pushNotificationConfig, w); w.join() }
}

export function readTaskPushNotificationConfig(r: BinaryReader, end: number, m: TaskPushNotificationConfig = {}): TaskPushNotificationConfig {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.name = r.string(true); break
      case 18: m.pushNotificationConfig = readPushNotificationConfig(r, r.uint32() + r.pos, m.pushNotificationConfig); break
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

export interface Security {
  schemes?: Record<string, StringList>
}

export function writeSecurity(m: Security, w: Writer): void {
  if (m.schemes) for (const [key, each] of Object.entries(m.schemes)) {
    w.uint32(10).fork().uint32(10).string(key)
    { w.uint32(18).fork(); writeStringList(each, w); w.join() }
    w.join()
  }
}

export function readSecurity(r: BinaryReader, end: number, m: Security = {}): Security {
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
}

export function writeOAuthFlows(m: OAuthFlows, w: Writer): void {
  if (m.authorizationCode !== undefined) { w.uint32(10).fork(); writeAuthorizationCodeOAuthFlow(m.authorizationCode, w); w.join() }
  if (m.clientCredentials !== undefined) { w.uint32(18).fork(); writeClientCredentialsOAuthFlow(m.clientCredentials, w); w.join() }
  if (m.implicit !== undefined) { w.uint32(26).fork(); writeImplicitOAuthFlow(m.implicit, w); w.join() }
  if (m.password !== undefined) { w.uint32(34).fork(); writePasswordOAuthFlow(m.password, w); w.join() }
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
}

export function readAuthorizationCodeOAuthFlow(r: BinaryReader, end: number, m: AuthorizationCodeOAuthFlow = {}): AuthorizationCodeOAuthFlow {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.authorizationUrl = r.string(true); break
      case 18: m.tokenUrl = r.string(true); break
      case 26: m.refreshUrl = r.string(true); break
      case 34: readEntry(r, r.uint32() + r.pos, (m.scopes ??= {}), () => r.string(true), ''); break
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

export interface SendMessageRequest {
  request?: Message
  configuration?: SendMessageConfiguration
  metadata?: Struct
}

export function writeSendMessageRequest(m: SendMessageRequest, w: Writer): void {
  if (m.request !== undefined) { w.uint32(10).fork(); writeMessage(m.request, w); w.join() }
  if (m.configuration !== undefined) { w.uint32(18).fork(); writeSendMessageConfiguration(m.configuration, w); w.join() }
  if (m.metadata !== undefined) { w.uint32(26).fork(); writeStruct(m.metadata, w); w.join() }
}

export function readSendMessageRequest(r: BinaryReader, end: number, m: SendMessageRequest = {}): SendMessageRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.request = readMessage(r, r.uint32() + r.pos, m.request); break
      case 18: m.configuration = readSendMessageConfiguration(r, r.uint32() + r.pos, m.configuration); break
      case 26: m.metadata = readStruct(r, r.uint32() + r.pos); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface GetTaskRequest {
  name?: string
  historyLength?: number
}

export function writeGetTaskRequest(m: GetTaskRequest, w: Writer): void {
  if (m.name) w.uint32(10).string(m.name)
  if (m.historyLength) w.uint32(16).int32(m.historyLength)
}

export function readGetTaskRequest(r: BinaryReader, end: number, m: GetTaskRequest = {}): GetTaskRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.name = r.string(true); break
      case 16: m.historyLength = r.int32(); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface CancelTaskRequest {
  name?: string
}

export function writeCancelTaskRequest(m: CancelTaskRequest, w: Writer): void {
  if (m.name) w.uint32(10).string(m.name)
}

export function readCancelTaskRequest(r: BinaryReader, end: number, m: CancelTaskRequest = {}): CancelTaskRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.name = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface GetTaskPushNotificationConfigRequest {
  name?: string
}

export function writeGetTaskPushNotificationConfigRequest(m: GetTaskPushNotificationConfigRequest, w: Writer): void {
  if (m.name) w.uint32(10).string(m.name)
}

export function readGetTaskPushNotificationConfigRequest(r: BinaryReader, end: number, m: GetTaskPushNotificationConfigRequest = {}): GetTaskPushNotificationConfigRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.name = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface DeleteTaskPushNotificationConfigRequest {
  name?: string
}

export function writeDeleteTaskPushNotificationConfigRequest(m: DeleteTaskPushNotificationConfigRequest, w: Writer): void {
  if (m.name) w.uint32(10).string(m.name)
}

export function readDeleteTaskPushNotificationConfigRequest(r: BinaryReader, end: number, m: DeleteTaskPushNotificationConfigRequest = {}): DeleteTaskPushNotificationConfigRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.name = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface CreateTaskPushNotificationConfigRequest {
  parent?: string
  configId?: string
  config?: TaskPushNotificationConfig
}

export function writeCreateTaskPushNotificationConfigRequest(m: CreateTaskPushNotificationConfigRequest, w: Writer): void {
  if (m.parent) w.uint32(10).string(m.parent)
  if (m.configId) w.uint32(18).string(m.configId)
  if (m.config !== undefined) { w.uint32(26).fork(); writeTaskPushNotificationConfig(m.config, w); w.join() }
}

export function readCreateTaskPushNotificationConfigRequest(r: BinaryReader, end: number, m: CreateTaskPushNotificationConfigRequest = {}): CreateTaskPushNotificationConfigRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.parent = r.string(true); break
      case 18: m.configId = r.string(true); break
      case 26: m.config = readTaskPushNotificationConfig(r, r.uint32() + r.pos, m.config); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface TaskSubscriptionRequest {
  name?: string
}

export function writeTaskSubscriptionRequest(m: TaskSubscriptionRequest, w: Writer): void {
  if (m.name) w.uint32(10).string(m.name)
}

export function readTaskSubscriptionRequest(r: BinaryReader, end: number, m: TaskSubscriptionRequest = {}): TaskSubscriptionRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.name = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface ListTaskPushNotificationConfigRequest {
  parent?: string
  pageSize?: number
  pageToken?: string
}

export function writeListTaskPushNotificationConfigRequest(m: ListTaskPushNotificationConfigRequest, w: Writer): void {
  if (m.parent) w.uint32(10).string(m.parent)
  if (m.pageSize) w.uint32(16).int32(m.pageSize)
  if (m.pageToken) w.uint32(26).string(m.pageToken)
}

export function readListTaskPushNotificationConfigRequest(r: BinaryReader, end: number, m: ListTaskPushNotificationConfigRequest = {}): ListTaskPushNotificationConfigRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.parent = r.string(true); break
      case 16: m.pageSize = r.int32(); break
      case 26: m.pageToken = r.string(true); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export type GetAgentCardRequest = object

export function writeGetAgentCardRequest(_m: GetAgentCardRequest, _w: Writer): void {
}

export function readGetAgentCardRequest(r: BinaryReader, end: number, m: GetAgentCardRequest = {}): GetAgentCardRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    skip(r, tag)
  }
  return finish(r, end, m)
}

export interface ListTasksRequest {
  contextId?: string
  status?: string | number
  pageSize?: number
  pageToken?: string
  historyLength?: number
  lastUpdatedAfter?: number
  includeArtifacts?: boolean
}

export function writeListTasksRequest(m: ListTasksRequest, w: Writer): void {
  if (m.contextId) w.uint32(10).string(m.contextId)
  if (m.status) w.uint32(16).int32(enumNumber(TaskState, m.status))
  if (m.pageSize !== undefined) w.uint32(24).int32(m.pageSize)
  if (m.pageToken) w.uint32(34).string(m.pageToken)
  if (m.historyLength !== undefined) w.uint32(40).int32(m.historyLength)
  if (m.lastUpdatedAfter) w.uint32(48).int64(m.lastUpdatedAfter)
  if (m.includeArtifacts !== undefined) w.uint32(56).bool(m.includeArtifacts)
}

export function readListTasksRequest(r: BinaryReader, end: number, m: ListTasksRequest = {}): ListTasksRequest {
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: m.contextId = r.string(true); break
      case 16: m.status = enumName(TaskState, r.int32()); break
      case 24: m.pageSize = r.int32(); break
      case 34: m.pageToken = r.string(true); break
      case 40: m.historyLength = r.int32(); break
      case 48: m.lastUpdatedAfter = Number(r.int64()); break
      case 56: m.includeArtifacts = r.bool(); break
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

export interface SendMessageResponse {
  task?: Task
  msg?: Message
}

export function writeSendMessageResponse(m: SendMessageResponse, w: Writer): void {
  if (m.task !== undefined) { w.uint32(10).fork(); writeTask(m.task, w); w.join() }
  if (m.msg !== undefined) { w.uint32(18).fork(); writeMessage(m.msg, w); w.join() }
}

export function readSendMessageResponse(r: BinaryReader, end: number, m: SendMessageResponse = {}): SendMessageResponse {
  let payload: keyof SendMessageResponse | undefined
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: if (payload && payload !== 'task') delete m[payload]; payload = 'task'; m.task = readTask(r, r.uint32() + r.pos, m.task); break
      case 18: if (payload && payload !== 'msg') delete m[payload]; payload = 'msg'; m.msg = readMessage(r, r.uint32() + r.pos, m.msg); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface StreamResponse {
  task?: Task
  msg?: Message
  statusUpdate?: TaskStatusUpdateEvent
  artifactUpdate?: TaskArtifactUpdateEvent
}

export function writeStreamResponse(m: StreamResponse, w: Writer): void {
  if (m.task !== undefined) { w.uint32(10).fork(); writeTask(m.task, w); w.join() }
  if (m.msg !== undefined) { w.uint32(18).fork(); writeMessage(m.msg, w); w.join() }
  if (m.statusUpdate !== undefined) { w.uint32(26).fork(); writeTaskStatusUpdateEvent(m.statusUpdate, w); w.join() }
  if (m.artifactUpdate !== undefined) { w.uint32(34).fork(); writeTaskArtifactUpdateEvent(m.artifactUpdate, w); w.join() }
}

export function readStreamResponse(r: BinaryReader, end: number, m: StreamResponse = {}): StreamResponse {
  let payload: keyof StreamResponse | undefined
  while (r.pos < end) {
    const tag = r.uint32()
    switch (tag) {
      case 10: if (payload && payload !== 'task') delete m[payload]; payload = 'task'; m.task = readTask(r, r.uint32() + r.pos, m.task); break
      case 18: if (payload && payload !== 'msg') delete m[payload]; payload = 'msg'; m.msg = readMessage(r, r.uint32() + r.pos, m.msg); break
      case 26: if (payload && payload !== 'statusUpdate') delete m[payload]; payload = 'statusUpdate'; m.statusUpdate = readTaskStatusUpdateEvent(r, r.uint32() + r.pos, m.statusUpdate); break
      case 34: if (payload && payload !== 'artifactUpdate') delete m[payload]; payload = 'artifactUpdate'; m.artifactUpdate = readTaskArtifactUpdateEvent(r, r.uint32() + r.pos, m.artifactUpdate); break
      default: skip(r, tag)
    }
  }
  return finish(r, end, m)
}

export interface ListTaskPushNotificationConfigResponse {
  configs?: TaskPushNotificationConfig[]
  nextPageToken?: string
}

export function writeListTaskPushNotificationConfigResponse(m: ListTaskPushNotificationConfigResponse, w: Writer): void {
  if (m.configs) for (const each of m.configs) { w.uint32(10).fork(); writeTaskPushNotificationConfig(each, w); w.join() }
  if (m.nextPageToken) w.uint32(18).string(m.nextPageToken)
}

export function readListTaskPushNotificationConfigResponse(r: BinaryReader, end: number, m: ListTaskPushNotificationConfigResponse = {}): ListTaskPushNotificationConfigResponse {
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

export const service = 'a2a.v1.A2AService'

export const rpcs = {
  SendMessage: { request: [readSendMessageRequest, writeSendMessageRequest], response: [readSendMessageResponse, writeSendMessageResponse], isStreaming: false },
  SendStreamingMessage: { request: [readSendMessageRequest, writeSendMessageRequest], response: [readStreamResponse, writeStreamResponse], isStreaming: true },
  GetTask: { request: [readGetTaskRequest, writeGetTaskRequest], response: [readTask, writeTask], isStreaming: false },
  CancelTask: { request: [readCancelTaskRequest, writeCancelTaskRequest], response: [readTask, writeTask], isStreaming: false },
  TaskSubscription: { request: [readTaskSubscriptionRequest, writeTaskSubscriptionRequest], response: [readStreamResponse, writeStreamResponse], isStreaming: true },
  CreateTaskPushNotificationConfig: { request: [readCreateTaskPushNotificationConfigRequest, writeCreateTaskPushNotificationConfigRequest], response: [readTaskPushNotificationConfig, writeTaskPushNotificationConfig], isStreaming: false },
  GetTaskPushNotificationConfig: { request: [readGetTaskPushNotificationConfigRequest, writeGetTaskPushNotificationConfigRequest], response: [readTaskPushNotificationConfig, writeTaskPushNotificationConfig], isStreaming: false },
  ListTaskPushNotificationConfig: { request: [readListTaskPushNotificationConfigRequest, writeListTaskPushNotificationConfigRequest], response: [readListTaskPushNotificationConfigResponse, writeListTaskPushNotificationConfigResponse], isStreaming: false },
  GetAgentCard: { request: [readGetAgentCardRequest, writeGetAgentCardRequest], response: [readAgentCard, writeAgentCard], isStreaming: false },
  DeleteTaskPushNotificationConfig: { request: [readDeleteTaskPushNotificationConfigRequest, writeDeleteTaskPushNotificationConfigRequest], response: [readEmpty, writeEmpty], isStreaming: false },
  ListTasks: { request: [readListTasksRequest, writeListTasksRequest], response: [readListTasksResponse, writeListTasksResponse], isStreaming: false },
  SubscribeToTask: { request: [readTaskSubscriptionRequest, writeTaskSubscriptionRequest], response: [readStreamResponse, writeStreamResponse], isStreaming: true },
  SetTaskPushNotificationConfig: { request: [readCreateTaskPushNotificationConfigRequest, writeCreateTaskPushNotificationConfigRequest], response: [readTaskPushNotificationConfig, writeTaskPushNotificationConfig], isStreaming: false },
  GetExtendedAgentCard: { request: [readGetAgentCardRequest, writeGetAgentCardRequest], response: [readAgentCard, writeAgentCard], isStreaming: false },
} as const
