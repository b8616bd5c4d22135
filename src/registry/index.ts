// Running a registry
export { createRegistry, type Registry, type RegistryOptions } from './create-registry.js'
// What it holds
export type { AgentKey, HealthState, InstanceKey, ProbeMessage, ProbeReport } from './documents.js'
export type { ArdOptions } from './doors/ard.js'
export type { FindQuery, FoundAgent, FoundPage } from './finds.js'
export type { RegistryLimits } from './limits.js'
export type { ProbeOptions } from './prober.js'
export type { Publication, Publisher } from './publications.js'
// Talking to one
export {
  type ListRequest,
  type PublishRequest,
  type RegisteredAgent,
  type RegisteredInstance,
  type RegisteredPage,
  type RegistryClient,
  type RegistryClientOptions,
  registryClient,
  type WatchRequest,
} from './registry-client.js'
export { RegistryError, type RegistryErrorCode, type RegistryProblem } from './registry-error.js'
// Finding agents in one
export { fileResolver } from './resolvers/file.js'
export { type NacosResolverOptions, nacosResolver } from './resolvers/nacos.js'
export { type RegistryResolver, type RegistryResolverOptions, registryResolver } from './resolvers/registry.js'
export { type AgentPlaces, staticResolver } from './resolvers/static.js'
export { type ServedRegistry, type ServeRegistryOptions, serveRegistry } from './serve-registry.js'
export type { RegistryEvent } from './watch.js'
