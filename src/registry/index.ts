/** Agent registries: run one, call one, and find agents in one by name. */

// Serve a registry

export type { RegistryRates } from './admission.js'
export {
  createRegistry,
  type Registry,
  type RegistryOptions,
  type ServedRegistry,
  type ServeRegistryOptions,
  serveRegistry,
} from './create-registry.js'
export type { InstanceDocument, ProbeReport } from './documents.js'
export type { FindQuery, FoundAgent, FoundPage } from './finds.js'
export type { ProbeOptions } from './prober.js'
export type { Publication, Publisher } from './publications.js'
export type { RegistryLimits } from './registry-limits.js'
export type { ArdOptions } from './routes/ard.js'

// Call a registry

export {
  type RegistryCallOptions,
  type RegistryClient,
  type RegistryClientOptions,
  registryClient,
  type WatchRequest,
} from '../registry-client/registry-client.js'
export { RegistryError, type RegistryErrorCode, type RegistryProblem } from '../registry-client/registry-error.js'
export type {
  AgentKey,
  HealthState,
  InstanceKey,
  ListRequest,
  ProbeMessage,
  PublishRequest,
  RegisteredAgent,
  RegisteredInstance,
  RegisteredPage,
  RegistryEvent,
} from '../registry-client/registry-messages.js'

// Find agents by name

export { type NacosResolverOptions, nacosResolver } from './resolvers/nacos.js'
export { type RegistryResolver, type RegistryResolverOptions, registryResolver } from './resolvers/registry.js'
export { type AgentPlaces, fileResolver, staticResolver } from './resolvers/static.js'
