/** Limits of a registry. */
export interface RegistryLimits {
  /** Maximum size of a card, as JSON. Default 256 KB. */
  readonly maxCardBytes: number
  /** Maximum number of skills on a card. Default 200. */
  readonly maxSkills: number
  /** Maximum number of interfaces on a card. Default 20. */
  readonly maxInterfaces: number
  /** Maximum number of tags of a publication, without those of the skills. Default 50. */
  readonly maxTags: number
  /** Maximum number of agents of one authenticated owner. Default 1,000. */
  readonly maxAgentsPerOwner: number
  /** Maximum number of agents. Default 100,000. */
  readonly maxAgents: number
  /** Maximum size of all cards of one authenticated owner, plus 1 KB for each. Default 64 MB. */
  readonly maxBytesPerOwner: number
  /** Maximum size of all cards, plus 1 KB for each. Default 512 MB. */
  readonly maxBytes: number
  /** Maximum number of versions of an agent. Default 50. */
  readonly maxVersions: number
  /** Maximum number of instances of one version. Default 100. */
  readonly maxInstances: number
  /** Maximum number of watches of one caller, or of one address without authentication. Default 500. */
  readonly maxWatchesPerCaller: number
  /** Maximum number of watches. Default 5,000. */
  readonly maxWatches: number
  /** Minimum lease duration. Default 5 s. */
  readonly minTtlMs: number
  /** Maximum lease duration. Default one day. */
  readonly maxTtlMs: number
  /** Time for which a name stays reserved for its owner after its last lease has expired. Default one day. */
  readonly nameKeptMs: number
}

export const defaultRegistryLimits: RegistryLimits = {
  maxCardBytes: 256 * 1024,
  maxSkills: 200,
  maxInterfaces: 20,
  maxTags: 50,
  maxAgentsPerOwner: 1000,
  maxAgents: 100_000,
  maxBytesPerOwner: 64 * 1024 * 1024,
  maxBytes: 512 * 1024 * 1024,
  maxVersions: 50,
  maxInstances: 100,
  maxWatchesPerCaller: 500,
  maxWatches: 5000,
  minTtlMs: 5000,
  maxTtlMs: 24 * 60 * 60_000,
  nameKeptMs: 24 * 60 * 60_000,
}
