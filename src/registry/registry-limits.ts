/** How much a registry takes from one publisher and in one card. */
export interface RegistryLimits {
  /** Of a card, as JSON. Default 256 KB. */
  readonly maxCardBytes: number
  /** Default 200. */
  readonly maxSkills: number
  /** Default 20. */
  readonly maxInterfaces: number
  /** Given by the publisher, beside those of the skills. Default 50. */
  readonly maxTags: number
  /** Agents of one owner, where callers are authenticated. Default 1,000. */
  readonly maxAgentsPerOwner: number
  /** Agents in all. Default 100,000. */
  readonly maxAgents: number
  /** Cards of one owner, as JSON, with 1 KB for each; where callers are authenticated. Default 64 MB. */
  readonly maxBytesPerOwner: number
  /** All cards, likewise. Default 512 MB. */
  readonly maxBytes: number
  /** Default 50. */
  readonly maxVersions: number
  /** Of one version. Default 100. */
  readonly maxInstances: number
  /** Watches of one caller, or of one address where callers are not told apart. Default 500. */
  readonly maxWatchesPerCaller: number
  /** Watches in all. Default 5,000. */
  readonly maxWatches: number
  /** Shortest and longest lease. Default 5 s and one day. */
  readonly minTtlMs: number
  readonly maxTtlMs: number
  /** How long a name stays its owner's after the last lease has run out. Default one day. */
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
