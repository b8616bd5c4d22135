/** M: must. S: should. Y: may. */
export type Level = 'M' | 'S' | 'Y'

/** The party that must meet the requirement: server, client, both, the author of an agent, the library, or any. */
export type Actor = 'srv' | 'cli' | 'both' | 'agent' | 'lib' | 'any'

export interface Requirement {
  readonly id: string
  readonly level: Level
  readonly actor: Actor
  readonly source: string
  readonly text: string
}
